//go:build !linux && !darwin && !freebsd

package osfile

import "math"

// Free is the number of bytes that this process may still write to the disk of a directory; here it is not known.
func Free(string) (int64, error) { return math.MaxInt64, nil }
