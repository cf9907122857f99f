package cf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// draw shows a batch's operations, one a line.
func draw(b *cf.Batch) string {
	var out strings.Builder
	for i := range b.Ops() {
		op := &b.Ops()[i]
		name := [...]string{"put", "delete", "delete range", "put meta", "delete meta"}[op.Kind]
		fmt.Fprintf(&out, "%s %s %x %x\n", name, op.Family, b.Key(op), b.Value(op))
	}
	return out.String()
}

func expectOps(t *testing.T, b *cf.Batch, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	got := strings.Split(strings.TrimRight(draw(b), "\n"), "\n")
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if g, w := strings.Join(got, "\n"), strings.Join(lines, "\n"); g != w {
		t.Errorf("operations\n%s\nwant\n%s", g, w)
	}
}

func TestABatchKeepsItsOperationsInOrder(t *testing.T) {
	var b cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "a"})
	b.Put("t/f", "q", 1, []byte("v"))
	b.PutFunc("t/f", "q", 0, func(dst []byte) []byte { return append(dst, "w"...) })
	b.DeleteCell("t/g", "q", 1)
	b.Row(cf.RowID{Space: "t", Row: "b"})
	b.DeleteRow("t/f")
	b.DeleteVersions("t/f", "q", 0, 0)
	b.DeleteVersions("t/f", "q", 2, 4)
	b.DeleteRows("t/f", cf.Range{Start: "a", End: "b"})
	b.PutMeta("k", []byte("v"))
	b.DeleteMeta("l")
	expectOps(t, &b, `
		put t/f 0161000171001c7ffffffffffffffe 76
		put t/f 0161000171001c7fffffffffffffff 77
		delete t/g 0161000171001c7ffffffffffffffe
		delete range t/f 016200 01620002
		delete range t/f 016200017100 0162000171001d
		delete range t/f 0162000171001c7ffffffffffffffc 0162000171001c7ffffffffffffffe
		delete range t/f 0161 0162
		put meta  6b 76
		delete meta  6c
	`)
	if got := fmt.Sprint(b.Rows()); got != "[{t a} {t b}]" {
		t.Errorf("rows %s", got)
	}
	if b.Size() == 0 {
		t.Error("size 0")
	}
}

func TestResetForgetsTheRowToo(t *testing.T) {
	var b cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "a"})
	b.Put("t/f", "q", 1, []byte("v"))
	b.Reset()
	if len(b.Ops()) != 0 || len(b.Rows()) != 0 || b.Size() != 0 {
		t.Errorf("after Reset: %d operations, %d rows, %d bytes", len(b.Ops()), len(b.Rows()), b.Size())
	}
	b.DeleteCell("t/f", "q", 1) // a mistake that must not hit the row of the batch before
	expectOps(t, &b, "delete t/f 0171001c7ffffffffffffffe")
}

func TestEmptyRangesDeleteNothing(t *testing.T) {
	var b cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "a"})
	b.DeleteVersions("t/f", "q", 4, 4)
	b.DeleteVersions("t/f", "q", 5, 4)
	b.DeleteRows("t/f", cf.Range{Start: "b", End: "b"})
	b.DeleteRows("t/f", cf.Range{Start: "b", End: "a"})
	expectOps(t, &b, "")
}

func TestARangeDeletionCoversItsCellsAndNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyCell.Draw(t, "at")
		since, until := anyTimestamp.Draw(t, "since"), anyTimestamp.Draw(t, "until")
		c := anyCell.Draw(t, "cell")
		c.row = near(t, at.row)
		if rapid.Bool().Draw(t, "same column") {
			c.row, c.qualifier = at.row, at.qualifier
		}
		var b cf.Batch
		b.Row(cf.RowID{Space: "t", Row: at.row})
		var want bool
		if rapid.Bool().Draw(t, "row") {
			b.DeleteRow("t/f")
			want = c.row == at.row
		} else {
			b.DeleteVersions("t/f", at.qualifier, since, until)
			want = c.row == at.row && c.qualifier == at.qualifier && c.ts >= since && (until == 0 || c.ts < until)
		}
		got := false
		for i := range b.Ops() {
			op := &b.Ops()[i]
			got = bytes.Compare(b.Key(op), c.key()) <= 0 && bytes.Compare(c.key(), b.Value(op)) < 0
		}
		if got != want {
			t.Fatalf("%+v covered: %t, want %t, by\n%s", c, got, want, draw(&b))
		}
	})
}

// A batch keeps the tail of a large value, and does not copy it.
func TestTailsAreNotCopied(t *testing.T) {
	tail := strings.Repeat("x", cf.LargeValue)
	var b, all cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "r"})
	b.PutTail("f", "q", 1, []byte("h"), tail)
	all.Row(cf.RowID{Space: "t", Row: "s"})
	all.PutTail("f", "q", 1, []byte("g"), "first")
	all.Put("f", "q", 2, []byte("put"))
	all.Append(&b)
	for i, want := range []string{"gfirst", "put", "h" + tail} {
		if got := all.Value(&all.Ops()[i]); string(got) != want {
			t.Errorf("value %d has %d bytes, want %d", i, len(got), len(want))
		}
	}
	if _, got := all.Parts(&all.Ops()[2]); unsafe.StringData(got) != unsafe.StringData(tail) {
		t.Error("the tail was copied")
	}
	if all.Size() < len(tail) || all.Copied() > 200 {
		t.Errorf("size %d, of which %d are copied", all.Size(), all.Copied())
	}
	b.Reset()
	if b.Size() != 0 {
		t.Errorf("an empty batch has %d bytes", b.Size())
	}
}
