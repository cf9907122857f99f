//go:build !cgo

package cli

// oneArena does nothing: without cgo there is no C allocator.
func oneArena() {}

// beganWithoutOutput returns false: after the start of Go's runtime, a closed output
// cannot be told from the null device.
func beganWithoutOutput() bool { return false }
