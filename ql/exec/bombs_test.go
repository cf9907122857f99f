package exec_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
)

// Every statement that takes a pattern ends with an error if the pattern takes too long, and
// with its context. So that the test does not take as long as the bombs, a statement may take
// a part of the steps.
func TestStatementsEndWithABomb(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table bombed family f")
	value, bomb := strings.Repeat("abcdefghij", 10_000), ".*"+strings.Repeat(".{0,100}", 20)+"z"
	runAll(t, r, "put bombed r f:v='"+value+"' f:w=1")
	before := runAll(t, r, "scan bombed")
	for _, text := range []string{
		"scan bombed where f:v =~ '" + bomb + "'",
		"scan bombed where not f:v =~ '" + bomb + "'",
		"scan bombed where f:w == 2 or f:v =~ '" + bomb + "'",
		"count bombed where f:v =~ '" + bomb + "'",
		"delete bombed where f:v =~ '" + bomb + "' yes",
		"delete bombed f:w where not f:v =~ '" + bomb + "' yes",
		"put bombed f:w=2 where not f:v =~ '" + bomb + "' yes",
		"cas bombed r if f:v =~ '" + bomb + "' put f:w=2",
		"list '" + bomb + "'",
	} {
		st, err := ql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		name, _, _ := strings.Cut(text, "'")
		_, lists := st.(*ql.Tables)
		steps := bytere.CallSteps / 64
		if lists { // the names are short
			steps = 1
		}
		run := func(ctx context.Context) error {
			result, err := r.Run(ctx, st)
			if rows, ok := result.(*exec.RowStream); ok && err == nil {
				for _, err = range rows.All() {
					if err != nil {
						break
					}
				}
			}
			return err
		}
		if err := run(bytere.NewWork(t.Context(), steps)); err == nil || !strings.Contains(err.Error(), "takes too long") {
			t.Errorf("%s: %v", name, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := run(ended); !lists && !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), "canceled")) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
	if after := runAll(t, r, "scan bombed"); after != before {
		t.Error("a statement that failed has changed the table")
	}
}
