//go:build !linux

package machine

import "errors"

// Forget is for Linux alone.
func Forget(string) error { return errors.New("-cold needs Linux") }
