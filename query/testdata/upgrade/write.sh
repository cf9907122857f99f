#!/bin/bash
# Writes format3 to format7 anew, each by a commit whose newest format it was: the program
# in write/ is built in a clone of that commit. format1 and format2 are of smolwc 0.1.0 and
# the time before it. An argument is a format, to write it alone; one with -pebble is written
# on that engine.
set -euo pipefail
cd "$(dirname "$0")"
commits=([3]=bcdb47e [4]=55453a5 [5]=3ab68cf [6]=1e5db9f [7]=bc6ca0e)
draft=$(mktemp -d)
trap 'rm -rf "$draft"' EXIT
(($#)) || set -- 3 4 5 6 7 7-pebble
for name in "$@"; do
	format=${name%-*}
	git clone -q --shared "$(git rev-parse --show-toplevel)" "$draft/$format"
	git -C "$draft/$format" checkout -q "${commits[format]}"
	cp -r write "$draft/$format/query/testdata/upgrade/"
	(cd "$draft/$format" && scripts/go run -tags "format$format" ./query/testdata/upgrade/write "$draft/format$name" "$format")
	rm -rf "format$name" "$draft/$format"
	mv "$draft/format$name" .
done
