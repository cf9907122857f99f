package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A session that looks for what keeps a server busy: the hottest rows, the calls under way,
// and the end of one of them.
func TestASessionAboutAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	output(t, "--addr", s.addr, "-c", "create table fleet change_stream=1d family meta; create table other family f; put other a f:x=1")
	output(t, "--addr", s.addr, "-c", "put fleet plane#TF-FIR meta:model=757; put fleet 'caf\u00e9 1' meta:model=1"+strings.Repeat("; get fleet plane#TF-FIR", 5))
	hot, _ := output(t, "--addr", s.addr, "--format", "table", "-c", "hot keys fleet", "-c", "hot keys limit=1 as csv", "-c", "hot keys as json since=now-1h")
	want := `TABLE  KEY           READS  WRITES
-----  ------------  -----  ------
fleet  plane#TF-FIR      5       1
fleet  "café 1"          0       1
(estimates, from samples)
table,key,reads,writes
fleet,plane#TF-FIR,5,1
[
{"table":"fleet","key":"plane#TF-FIR","reads":5,"writes":1},
{"table":"fleet","key":"café 1","reads":0,"writes":1},
{"table":"other","key":"a","reads":0,"writes":1}
]
`
	if hot != want {
		t.Errorf("%s\nwant\n%s", hot, want)
	}

	type ended struct {
		code int
		errs string
	}
	watched := make(chan ended)
	go func() {
		var out, errs strings.Builder
		code := run([]string{"--addr", s.addr, "-c", "watch fleet"}, strings.NewReader(""), &out, &errs, noEnv)
		watched <- ended{code, errs.String()}
	}()
	line := regexp.MustCompile(`(?m)^(\d+),ReadChangeStream,fleet,.*`)
	var found []string
	for found == nil {
		time.Sleep(10 * time.Millisecond)
		calls, _ := output(t, "--addr", s.addr, "--format", "csv", "-c", "calls")
		if !strings.HasPrefix(calls, "id,method,table,about,rows,cells,written,ms,code,token,peer\n") {
			t.Fatal(calls)
		}
		found = line.FindStringSubmatch(calls)
	}
	if out, _ := output(t, "--addr", s.addr, "--format", "table", "-c", "cancel call "+found[1]); out != "cancelled call "+found[1]+"\n" {
		t.Errorf("%q", out)
	}
	if got := <-watched; got.code == 0 || !strings.Contains(got.errs, "the call was cancelled by a client at 127.0.0.1:") {
		t.Errorf("the call that was cancelled: exit %d, %s", got.code, got.errs)
	}
	var out, errs strings.Builder
	if code := run([]string{"--addr", s.addr, "-c", "cancel call 999999999"}, strings.NewReader(""), &out, &errs, noEnv); code != 1 || !strings.Contains(errs.String(), "no call under way has the id 999999999; it may have ended") {
		t.Errorf("exit %d, %s", code, errs.String())
	}
	out.Reset()
	errs.Reset()
	if code := run([]string{"--db", filepath.Join(t.TempDir(), "near"), "-c", "create table t family f", "-c", "calls"}, strings.NewReader(""), &out, &errs, noEnv); code != 1 || !strings.Contains(errs.String(), "there is no server here") {
		t.Errorf("at hand: exit %d, %s", code, errs.String())
	}
}
