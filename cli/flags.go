package cli

import (
	"time"

	"github.com/smolwc/smolwc/schema"
)

// minBytes is the smallest --memory.
const minBytes = 16 << 20

// A sizeFlag is a flag whose value is a size, such as 256MiB.
type sizeFlag int64

func (f *sizeFlag) String() string { return schema.FormatSize(int64(*f)) }

func (f *sizeFlag) Type() string { return "SIZE" }

func (f *sizeFlag) Set(text string) (err error) {
	n, err := schema.ParseSize(text)
	*f = sizeFlag(n)
	return err
}

// An ageFlag is a flag whose value is an age such as 36h or 7d, or 0.
type ageFlag time.Duration

func (f *ageFlag) String() string {
	if *f == 0 {
		return "0"
	}
	return schema.FormatAge(time.Duration(*f))
}

func (f *ageFlag) Type() string { return "D" }

func (f *ageFlag) Set(text string) (err error) {
	if text == "0" {
		*f = 0
		return nil
	}
	d, err := schema.ParseAge(text)
	*f = ageFlag(d)
	return err
}
