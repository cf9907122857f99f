package sql

import "testing"

// SortIn gives sorting and grouping this many bytes of memory and of disk, and a directory
// for their files.
func SortIn(t testing.TB, memory int, disk int64, dir string) {
	olds, oldDisk, oldDir := [...]int{sortMemory, groupMemory, distinctMemory}, maxSpilled, spillDir
	t.Cleanup(func() {
		sortMemory, groupMemory, distinctMemory = olds[0], olds[1], olds[2]
		maxSpilled, spillDir = oldDisk, oldDir
	})
	SetMemory(memory)
	maxSpilled, spillDir = disk, func() string { return dir }
}

// SetMemory changes the memory after SortIn.
func SetMemory(memory int) { sortMemory, groupMemory, distinctMemory = memory, memory, memory }
