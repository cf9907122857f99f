package function

import (
	"context"

	"github.com/smolwc/smolwc/sql/parse"
)

// MaxText bounds the bytes of a text that a function makes.
const MaxText = 16 << 20

// maxElements bounds the elements of an array that a function makes.
const maxElements = 1 << 20

func sized(n int) error {
	if n > MaxText {
		return parse.Invalid("the result is larger than 16 MiB")
	}
	return nil
}

// fits refuses an array that is too long. Its elements may be strings.
func fits(elements int) error {
	if elements > maxElements {
		return parse.Invalid("the result has more than %d elements", maxElements)
	}
	return nil
}

// A declaration is a signature, in which […] is optional and … repeats, and the function.
type declaration struct {
	signature string
	call      func(args []any) (any, error)
}

// A long declaration is of a function that a context must be able to end.
type long struct {
	signature string
	call      func(ctx context.Context, args []any) (any, error)
}
