package bytere

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// compiled compiles an expression that is right.
func compiled(t testing.TB, expr string) *Regexp {
	t.Helper()
	r, err := Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	for _, expr := range []string{"cached", "cached.*", "cached|[0-9]+", `\Qcached`} {
		first, again := compiled(t, expr), compiled(t, expr)
		if first != again {
			t.Errorf("%q is compiled twice", expr)
		}
	}
}

// An expression that is used again and again stays in the cache, beside any number of
// other expressions, which do not.
func TestExpressionsInUseStay(t *testing.T) {
	used, once := compiled(t, "in use"), compiled(t, "used once")
	for i := range 4 * halfExpressions {
		compiled(t, fmt.Sprintf("other %d", i))
		if compiled(t, "in use") != used {
			t.Fatalf("forgotten after %d others", i+1)
		}
	}
	if compiled(t, "used once") == once {
		t.Error("an expression that nobody uses is not forgotten")
	}
}

// Clients may send any expressions, as large and as many as they like.
func TestTheCacheOfExpressionsIsBounded(t *testing.T) {
	for name, hostile := range map[string]func(i int) string{
		"many":          func(i int) string { return fmt.Sprint("many", i) },
		"long":          func(i int) string { return fmt.Sprint("long", i) + strings.Repeat("x", 3000) },
		"too long":      func(i int) string { return fmt.Sprint("toolong", i) + strings.Repeat("x", 20000) },
		"stems":         func(i int) string { return fmt.Sprint("stems", i) + "[a-z0-9]" + strings.Repeat("y", 200) },
		"repetition":    func(i int) string { return fmt.Sprint("(re{2}p{2}){3}", i) },
		"many repeated": func(i int) string { return fmt.Sprint("((a{10}){10}b?){9}", i) },
		"alternatives":  func(i int) string { return fmt.Sprint("ax|by|cz|dw|[ef]v|gu", i) },
		"large classes": func(i int) string { return fmt.Sprint(`\pL\PN`, i) },
		"ignoring case": func(i int) string { return fmt.Sprint("(?i)straße", i) },
	} {
		t.Run(name, func(t *testing.T) {
			var c expressionCache
			before := inUse()
			for i := range 3 * halfExpressions {
				expr := hostile(i)
				c.add(expr, compiled(t, expr))
			}
			if n := len(c.young) + len(c.old); n > 2*halfExpressions {
				t.Errorf("%d expressions are kept", n)
			}
			for _, half := range []map[string]*Regexp{c.young, c.old} {
				bytes := 0
				for _, r := range half {
					bytes += r.size
				}
				if bytes > halfBytes {
					t.Errorf("%d bytes are kept in one half", bytes)
				}
			}
			if grown := inUse() - before; grown > 4*halfBytes { // two halves here, and two of the process
				t.Errorf("the memory in use has grown by %d bytes", grown)
			}
			runtime.KeepAlive(&c)
		})
	}
}

// inUse is how many bytes of Go's heap are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what sync.Pools have goes in two
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTheCacheOfExpressionsIsForManyReads(t *testing.T) {
	var c expressionCache
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				expr := fmt.Sprint("e", (i*(g+1))%(3*halfExpressions))
				if r := c.get(expr); r != nil && r.pieces.texts[0] != expr {
					t.Errorf("%q is %q", expr, r.pieces.texts[0])
				}
				c.add(expr, &Regexp{pieces: &pieces{texts: []string{expr}}})
			}
		})
	}
	wg.Wait()
}

// A short text can stand for a program of any size.
func TestTheSizeOfAnExpressionIsBounded(t *testing.T) {
	for expr, ok := range map[string]bool{strings.Repeat("a{1000}", 10): true, strings.Repeat("a{1000}", 60): false, strings.Repeat("(ab?){500}", 200): false} {
		if _, err := Compile(expr); (err == nil) != ok {
			t.Errorf("%.20s… of %d bytes: %v", expr, len(expr), err)
		}
	}
}
