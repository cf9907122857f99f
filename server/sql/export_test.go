package sql

import "testing"

// SortIn gives sorting this many bytes of memory and of disk, and a directory for its
// files.
func SortIn(t testing.TB, memory int, disk int64, dir string) {
	oldMemory, oldDisk, oldDir := sortMemory, maxSpilled, spillDir
	t.Cleanup(func() { sortMemory, maxSpilled, spillDir = oldMemory, oldDisk, oldDir })
	sortMemory, maxSpilled, spillDir = memory, disk, func() string { return dir }
}
