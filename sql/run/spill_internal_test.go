//go:build linux

package run

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A full disk is an error that says so.
func TestAFullDiskEndsASort(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	var rows packedRows
	rows.add(appendRow(nil, []byte("key"), 0, []byte("values")))
	err = (&spill{x: &execution{call: &call{ctx: t.Context()}, limits: DefaultLimits()}, file: full}).write(&rows, rows.rows)
	if !errors.Is(err, syscall.ENOSPC) || query.KindOf(err) != query.KindResourceExhausted {
		t.Errorf("the error is %v", err)
	}
}
