package nilcheck

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// recorder keeps the errors of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func deref(p *int) int { return *p }

func refuses(p *int) error {
	if p == nil {
		return errors.New("nil")
	}
	return nil
}

// TestAPanicIsAnError calls a function that panics and one that does not.
func TestAPanicIsAnError(t *testing.T) {
	for _, test := range []struct {
		fn   any
		want string
	}{{deref, "deref(zero *int) panics: runtime error: invalid memory address"}, {refuses, "refuses(zero *int): wrong; error: nil"}} {
		rec := &recorder{TB: t}
		r := newRunner(&Package{Funcs: []any{test.fn}, Judge: func(c Call) string {
			if c.Nil && c.Fails && c.Err != nil {
				return "wrong"
			}
			return ""
		}}, rec)
		r.call(rec, r.funcs[0], []reflect.Value{reflect.Zero(reflect.TypeFor[*int]())}, Call{Name: r.funcs[0].name, Nil: true})
		if len(rec.errors) != 1 || !strings.Contains(rec.errors[0], test.want) {
			t.Errorf("%q, want %q", rec.errors, test.want)
		}
	}
}

// TestWhatIsLeftOut: the types of this package are found, because they are not in the
// list.
func TestWhatIsLeftOut(t *testing.T) {
	rec := &recorder{TB: t}
	newRunner(&Package{}, rec).checkComplete(rec, ".")
	all := strings.Join(rec.errors, "\n")
	for _, name := range []string{".Package is", ".Call is"} {
		if !strings.Contains(all, name) {
			t.Errorf("%q says nothing of %s", all, name)
		}
	}
}
