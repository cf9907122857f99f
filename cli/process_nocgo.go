//go:build !cgo

package cli

// oneArena does nothing: without cgo there is no C allocator.
func oneArena() {}

// ofGo is how much of the engine's memory is Go's.
func ofGo(memory int64) int64 { return memory }

// beganWithoutOutput returns false: after the start of Go's runtime, a closed output
// cannot be told from the null device.
func beganWithoutOutput() bool { return false }
