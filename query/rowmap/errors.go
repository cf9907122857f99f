package rowmap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query"
)

// Fault is an error of a kind, to which [Kinds.Fail] adds the operation.
func Fault(kind query.Kind, format string, args ...any) error {
	return &query.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// Kinds are the kinds of the errors that a layer exports.
type Kinds map[error]query.Kind

// Fail is the error of a call of a layer, nil if err is nil. The text names the operation
// and the path of its object; without a path it names only the operation.
func (k Kinds) Fail(op string, err error, path ...string) error {
	if err == nil {
		return nil
	}
	kind := query.KindOf(err)
	for known, of := range k {
		if errors.Is(err, known) {
			kind = of
		}
	}
	if inner, ok := err.(*query.Error); ok && inner.Op == "" {
		err = inner.Err
	}
	if len(path) > 0 {
		op += " " + strconv.Quote(excerpt.Of(strings.Join(path, "/")))
	}
	return &query.Error{Op: op, Kind: kind, Err: err}
}
