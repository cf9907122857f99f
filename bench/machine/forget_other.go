//go:build !linux

package machine

import "errors"

// Forget works only on Linux.
func Forget(string) error { return errors.New("-cold needs Linux") }
