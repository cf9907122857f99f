package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A number is a flag such as 10M for ten million; k, M and G are powers of 1,000, and
// Ki, Mi and Gi are powers of 1,024.
type number int64

var units = []struct {
	suffix string
	factor int64
}{{"Gi", 1 << 30}, {"G", 1e9}, {"Mi", 1 << 20}, {"M", 1e6}, {"Ki", 1 << 10}, {"k", 1e3}, {"K", 1e3}}

// Set implements flag.Value.
func (n *number) Set(text string) error {
	digits, factor := text, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(text, u.suffix); ok {
			digits, factor = d, u.factor
			break
		}
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(digits, "_", ""), 10, 64)
	if err != nil || v < 0 || v > (1<<62)/factor {
		return fmt.Errorf("%q is not a number such as 5000, 250k or 10M", text)
	}
	*n = number(v * factor)
	return nil
}

// String implements flag.Value.
func (n *number) String() string {
	for _, u := range units {
		if v := int64(*n); v >= u.factor && v%u.factor == 0 {
			return strconv.FormatInt(v/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(*n), 10)
}
