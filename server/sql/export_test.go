package sql

import "testing"

// SortIn makes sorting have so much memory, and its files be in a directory.
func SortIn(t testing.TB, memory int, disk int64, dir string) {
	oldMemory, oldDisk, oldDir := sortMemory, maxSpilled, spillDir
	t.Cleanup(func() { sortMemory, maxSpilled, spillDir = oldMemory, oldDisk, oldDir })
	sortMemory, maxSpilled, spillDir = memory, disk, func() string { return dir }
}
