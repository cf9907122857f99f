//go:build !cgo

package main

// oneArena does nothing: without cgo there is no allocator of C.
func oneArena() {}
