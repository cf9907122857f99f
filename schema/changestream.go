package schema

import (
	"fmt"
	"time"
)

// The bounds of [Table.ChangeStream], Bigtable's.
const (
	MinChangeStream = 24 * time.Hour
	MaxChangeStream = 7 * 24 * time.Hour
)

// CheckChangeStream refuses a time for which changes cannot be kept.
func CheckChangeStream(d time.Duration) error {
	if d < MinChangeStream || d > MaxChangeStream {
		return fmt.Errorf("changes cannot be kept for %s; want 1d to 7d", FormatAge(max(d, time.Microsecond)))
	}
	return checkAge(d)
}

// ParseChangeStream reads a [Table.ChangeStream]: an age, or none.
func ParseChangeStream(text string) (time.Duration, error) {
	if text == noChangeStream {
		return 0, nil
	}
	d, err := ParseAge(text)
	if err == nil {
		err = CheckChangeStream(d)
	}
	return d, err
}

// FormatChangeStream is the text that [ParseChangeStream] reads as d.
func FormatChangeStream(d time.Duration) string {
	if d == 0 {
		return noChangeStream
	}
	return FormatAge(d)
}

const noChangeStream = "none"
