//go:build !cgo

package main

// oneArena does nothing: without cgo there is no C allocator.
func oneArena() {}
