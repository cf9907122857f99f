package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
)

// tell runs smolwc and returns what it prints, errors too.
func tell(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), beSmolwc+"=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it says where it stands
	out, _ := cmd.CombinedOutput()                                           // the text says whether it failed
	if ctx.Err() != nil {
		t.Fatalf("after five minutes smolwc %q has not ended: %s", args, out)
	}
	return string(out)
}

// page gets a page for monitoring.
func page(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits until a command prints a text.
func await(t *testing.T, want string, args ...string) {
	t.Helper()
	for at := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got := tell(t, args...)
		if strings.Contains(got, want) {
			return
		}
		if time.Since(at) > 5*time.Minute {
			t.Fatalf("after five minutes %v prints %q; want %q", args, got, want)
		}
	}
}

// A standby serves the rows of its primary, refuses writes, and goes on when its primary
// was killed.
func TestServeAStandby(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--standby-name", "second", "--http", "127.0.0.1:0")
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	if got := tell(t, "--addr", s.addr, "-c", "put fleet b meta:x=no"); !strings.Contains(got, "standby") || !strings.Contains(got, p.addr) {
		t.Errorf("a write to the standby: %q", got)
	}
	await(t, "second", "replicas", "--addr", p.addr)
	await(t, "is a standby of "+p.addr+": connected", "replicas", "--addr", s.addr)
	for addr, want := range map[string][]string{p.addr: {"role primary", "epoch 1", "standbys 1", "semi sync off"}, s.addr: {"role standby of " + p.addr, "epoch 1", "standbys 0", "rebuilds 0"}} {
		got := strings.Join(strings.Fields(tell(t, "--addr", addr, "--format", "table", "-c", "stats")), " ")
		for _, figure := range want {
			if !strings.Contains(got, figure) {
				t.Errorf("stats of %s has no %q: %q", addr, figure, got)
			}
		}
	}
	if err := p.end(syscall.SIGKILL); err == nil {
		t.Error("the primary was not killed")
	}
	await(t, "not connected", "replicas", "--addr", s.addr)
	if text := page(t, strings.TrimSuffix(s.pages, "/metrics")+"/readyz?max-lag=0s"); !strings.Contains(text, "behind its primary") {
		t.Errorf("readyz: %q", text)
	}
	if text := page(t, s.pages); !strings.Contains(text, "smolwc_standby_connected 0") {
		t.Errorf("the metrics do not say that the standby is not connected")
	}
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--addr", p.addr)
	tell(t, "--addr", p.addr, "-c", "put fleet b meta:x=again")
	await(t, "again", "--addr", s.addr, "-c", "get fleet b")
	if got := tell(t, "--db", filepath.Join(dir, "s"), "-c", "put fleet c meta:x=no"); !strings.Contains(got, "the directory has a standby") {
		t.Errorf("a write to the standby's directory: %q", got)
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("the standby ends with %v", err)
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("the primary ends with %v", err)
	}
}

// A standby that has said that it serves answers the first call: the connection is no longer one
// with what answered while the standby was opened.
func TestTheFirstCallAtAStandby(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	for range 10 {
		s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
		c, err := client.Dial(s.addr, client.Options{})
		if err == nil {
			_, err = c.Replicas(t.Context())
		}
		if err := errors.Join(err, c.Close()); err != nil {
			t.Error(err)
		}
		_ = s.end(syscall.SIGKILL)
	}
}

// watch at a standby prints what it prints at the primary, and ends, also when the primary
// writes nothing.
func TestWatchAStandby(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet change_stream=1d family meta")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	await(t, "is a standby of "+p.addr+": connected", "replicas", "--addr", s.addr) // it was copied
	tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=1; put fleet a meta:x=2")   // then the standby knows what it has
	since := " since=" + time.Now().UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=hello; delete fleet a meta:x; put fleet b meta:x=last")
	await(t, "last", "--addr", s.addr, "-c", "get fleet b")
	near := tell(t, "--addr", p.addr, "-c", "watch fleet until=now"+since)
	far := tell(t, "--addr", s.addr, "-c", "watch fleet until=now"+since)
	if strings.Count(near, "\n") != 3 || !strings.Contains(near, "token") || near != far {
		t.Errorf("at the primary\n%s\nat the standby\n%s", near, far)
	}
	if got := tell(t, "--addr", s.addr, "-c", "watch fleet until=now"); got != "" {
		t.Errorf("from now until now: %q", got)
	}
	for _, served := range []*served{s, p} {
		if err := served.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
}

// A standby is promoted while clients read from it, the old primary no longer takes
// writes, also when it is started again, and follows when it is told to.
func TestServeAPromotion(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--http", "127.0.0.1:0")
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	stop := readOn(t, s)
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, s.addr+" is the primary: epoch 2, after position ") {
		t.Errorf("promote: %q", got)
	}
	if got := tell(t, "--addr", s.addr, "-c", "put fleet b meta:x=later; get fleet b"); !strings.Contains(got, "later") || strings.Contains(got, "error") {
		t.Errorf("a write to the new primary: %q", got)
	}
	stop()
	await(t, s.addr+" was promoted", "--addr", p.addr, "-c", "put fleet c meta:x=no")
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, "takes writes already") {
		t.Errorf("a second promote: %q", got)
	}
	if got := tell(t, "replicas", "--addr", p.addr); !strings.Contains(got, "takes no writes, since "+s.addr+" was promoted") {
		t.Errorf("replicas of the old primary: %q", got)
	}
	_ = p.end(syscall.SIGKILL) // it was killed

	p = startServer(t, "--db", filepath.Join(dir, "p"), "--addr", p.addr)
	if got := tell(t, "--addr", p.addr, "-c", "put fleet c meta:x=no"); !strings.Contains(got, s.addr+" was promoted") {
		t.Errorf("a write to the old primary, started again: %q", got)
	}
	if got := tell(t, "--addr", p.addr, "-c", "get fleet a"); !strings.Contains(got, "hello") {
		t.Errorf("a read of the old primary: %q", got)
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("the fenced primary ends with %v", err)
	}
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--addr", p.addr, "--standby-of", s.addr)
	await(t, "later", "--addr", p.addr, "-c", "get fleet b")
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("the new primary ends with %v", err)
	}
	if got := tell(t, "serve", "--db", filepath.Join(dir, "s"), "--addr", "127.0.0.1:0", "--standby-of", p.addr); !strings.Contains(got, "no later one; serve the directory without --standby-of") {
		t.Errorf("a primary that is to follow its standby: %q", got)
	}
	s = startServer(t, "--db", filepath.Join(dir, "s"), "--addr", s.addr)
	tell(t, "--addr", s.addr, "-c", "put fleet d meta:x=again")
	await(t, "again", "--addr", p.addr, "-c", "get fleet d")
	for _, served := range []*served{s, p} {
		if err := served.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
}

// readOn reads a row from a server again and again, over gRPC and over the JSON API; no
// read may fail until stop is called.
func readOn(t *testing.T, s *served) (stop func()) {
	t.Helper()
	db, err := client.Dial(s.addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done, began := make(chan struct{}), make(chan struct{}, 2)
	var running sync.WaitGroup
	again := func(read func() error) {
		running.Go(func() {
			for n := 0; ; n++ {
				if err := read(); err != nil {
					t.Errorf("read %d: %v", n, err)
					return
				}
				if n == 1 {
					began <- struct{}{}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	again(func() error {
		rows := 0
		for _, err := range db.Table("fleet").ReadRows(t.Context()) {
			if err != nil {
				return err
			}
			rows++
		}
		if rows == 0 {
			return errors.New("no rows")
		}
		return nil
	})
	again(func() error {
		resp, err := http.Get(strings.TrimSuffix(s.pages, "/metrics") + "/readyz")
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	})
	<-began
	<-began
	return func() {
		close(done)
		running.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Between machines a standby uses TLS and a token. Without them the error says what to
// give, nothing is left behind, and the primary's database keeps its format.
func TestServeAStandbyOverTLSWithAToken(t *testing.T) {
	base := t.TempDir()
	dir, copied := filepath.Join(base, "p"), filepath.Join(base, "s")
	cert, key := selfSigned(t)
	tell(t, "--db", dir, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	admin := strings.TrimSpace(tell(t, "--db", dir, "token", "create", "admin", "--admin", "*"))
	reader := strings.TrimSpace(tell(t, "--db", dir, "token", "create", "reader", "--read", "*"))
	p := startServer(t, "--db", dir, "--tls-cert", cert, "--tls-key", key)
	for _, c := range []struct{ token, flag, want string }{
		{admin, "", "give --standby-tls or --standby-ca"},
		{admin, "--standby-tls", "--standby-ca names the file"},
		{"", "--standby-ca=" + cert, "requires a token"},
		{"smolwc_wrong", "--standby-ca=" + cert, "right to administer all tables, in $SMOLWC_TOKEN"},
		{reader, "--standby-ca=" + cert, "right to administer all tables, in $SMOLWC_TOKEN"},
	} {
		t.Setenv(envToken, c.token)
		args := []string{"serve", "--db", copied, "--addr", "127.0.0.1:0", "--http", "off", "--standby-of", p.addr}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		if got := tell(t, args...); !strings.Contains(got, c.want) || strings.Contains(got, "rpc error") || strings.Contains(got, "serving") {
			t.Errorf("token %q, flag %s: %q; want %q", c.token, c.flag, got, c.want)
		}
	}
	if left, _ := filepath.Glob(copied + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "SMOLWC")); err != nil || !strings.Contains(string(text), "format 1") && query.DefaultEngine() == query.EngineRocksDB {
		t.Errorf("the primary has %q (%v)", text, err)
	}
	t.Setenv(envToken, admin)
	shareTokens(t, dir, copied)
	s := startServer(t, "--db", copied, "--standby-of", p.addr, "--standby-ca", cert, "--standby-name", "second")
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	await(t, "second", "replicas", "--addr", p.addr, "--tls-ca", cert)
	for _, served := range []*served{s, p} {
		if err := served.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
}

// shareTokens gives a standby the tokens of its primary.
func shareTokens(t *testing.T, dir, copied string) {
	t.Helper()
	tokens, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err == nil {
		err = os.MkdirAll(copied, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(copied, "tokens.json"), tokens, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A standby without tokens would be open to everybody, and its primary is not: it does not
// start, whether it has a copy already, or the primary gets its tokens later or is gone.
func TestAStandbyWithoutTokensOfAPrimaryWithTokensDoesNotStart(t *testing.T) {
	base := t.TempDir()
	dir, copied := filepath.Join(base, "p"), filepath.Join(base, "s")
	tell(t, "--db", dir, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	p := startServer(t, "--db", dir)
	s := startServer(t, "--db", copied, "--standby-of", p.addr)
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	admin := strings.TrimSpace(tell(t, "--db", dir, "token", "create", "admin", "--admin", "*"))
	refused := func(when, token, to string) {
		t.Helper()
		t.Setenv(envToken, token)
		got := tell(t, "serve", "--db", to, "--addr", "127.0.0.1:0", "--http", "off", "--standby-of", p.addr)
		for _, want := range []string{"requires a token", "smolwc --db " + to + " token create NAME --admin '*'", "SMOLWC_TOKEN=TOKEN smolwc serve --db " + to + " --standby-of " + p.addr} {
			if !strings.Contains(got, want) || strings.Contains(got, "serving") {
				t.Errorf("%s: %q; want %q", when, got, want)
			}
		}
	}
	for { // the server looks for new tokens now and then
		if got := tell(t, "--addr", p.addr, "-c", "get fleet a"); strings.Contains(got, "requires a token") {
			break
		}
	}
	refused("without a token", "", copied)
	refused("with a token", admin, copied)
	refused("a new copy", admin, filepath.Join(base, "new"))
	if _, err := os.Stat(filepath.Join(base, "new")); err == nil {
		t.Error("a directory is left")
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	refused("without its primary", admin, copied)
	shareTokens(t, dir, copied)
	s = startServer(t, "--db", copied, "--standby-of", p.addr)
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	t.Setenv(envToken, "")
	for _, args := range [][]string{{"--addr", s.addr, "-c", "get fleet a"}, {"promote", "--addr", s.addr}} {
		if got := tell(t, args...); !strings.Contains(got, "requires a token") {
			t.Errorf("%q without a token: %q", args, got)
		}
	}
}

// A promoted server that was killed tells the old primary when it is started again, with the
// token and the TLS of the standby that it was. Until then it says so.
func TestServeAPromotedServerThatIsStartedAgain(t *testing.T) {
	base := t.TempDir()
	dir, copied := filepath.Join(base, "p"), filepath.Join(base, "s")
	cert, key := selfSigned(t)
	tell(t, "--db", dir, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	admin := strings.TrimSpace(tell(t, "--db", dir, "token", "create", "admin", "--admin", "*"))
	t.Setenv(envToken, admin)
	p := startServer(t, "--db", dir, "--tls-cert", cert, "--tls-key", key)
	shareTokens(t, dir, copied)
	s := startServer(t, "--db", copied, "--standby-of", p.addr, "--standby-ca", cert)
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	_ = p.end(syscall.SIGKILL) // it was killed
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, "could not fence the old primary yet") {
		t.Errorf("promote: %q", got)
	}
	_ = s.end(syscall.SIGKILL) // it was killed
	s = startServer(t, "--db", copied, "--addr", s.addr, "--standby-ca", cert, "--http", "127.0.0.1:0")
	await(t, "could not fence the old primary "+p.addr+" yet", "replicas", "--addr", s.addr)
	if text := page(t, s.pages); !strings.Contains(text, "smolwc_untold_primaries 1") {
		t.Error("the metrics do not say that the old primary was not fenced")
	}
	p = startServer(t, "--db", dir, "--addr", p.addr, "--tls-cert", cert, "--tls-key", key)
	await(t, s.addr+" was promoted", "--addr", p.addr, "--tls-ca", cert, "-c", "put fleet c meta:x=no")
	for at := time.Now(); !strings.Contains(page(t, s.pages), "smolwc_untold_primaries 0"); time.Sleep(20 * time.Millisecond) {
		if time.Since(at) > 5*time.Minute {
			t.Fatal("after a minute the metrics still say that the old primary was not fenced")
		}
	}
	if got := tell(t, "replicas", "--addr", s.addr); strings.Contains(got, "not told") {
		t.Errorf("replicas: %q", got)
	}
}

// The console and the JSON API of a standby refuse writes by naming the primary, and write
// after a promotion.
func TestPagesOfAStandby(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=hello")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--http", "127.0.0.1:0")
	await(t, "hello", "--addr", s.addr, "-c", "get fleet a")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser, pages := &http.Client{Jar: jar}, strings.TrimSuffix(s.pages, "/metrics")
	send := func(method, path, kind, body string) string {
		t.Helper()
		req, err := http.NewRequest(method, pages+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		req.Close = true // the standby keeps its connections for a moment when it is promoted
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	writes := func() (answers []string) {
		form := regexp.MustCompile(`name="form" value="(\w+)"`).FindStringSubmatch(send("GET", "/query", "", ""))
		if form == nil {
			t.Fatal("the console has no form")
		}
		return []string{
			send("POST", "/v1/table/fleet/write", "application/json", `{"items":[{"row_key":"b","cells":[{"column_key":"meta:x","type":"string","value":"new"}]}]}`),
			send("PUT", "/v1/table/other", "application/json", ""),
			send("DELETE", "/v1/table/fleet/row", "application/json", `{"row_key":"a"}`),
			send("POST", "/query", "application/x-www-form-urlencoded", url.Values{"form": {form[1]}, "q": {"put fleet c meta:x=new"}}.Encode()),
		}
	}
	refusal := "write to its primary, " + p.addr
	for _, answer := range writes() {
		if !strings.Contains(answer, refusal) {
			t.Errorf("a write to a standby: %q", answer)
		}
	}
	for _, statement := range []string{"begin; put fleet c meta:x=new; commit", "gc fleet"} {
		if got := tell(t, "--addr", s.addr, "-c", statement); !strings.Contains(got, refusal) {
			t.Errorf("%s at a standby: %q", statement, got)
		}
	}
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, "is the primary") {
		t.Fatal(got)
	}
	for _, answer := range writes() {
		if strings.Contains(answer, refusal) || strings.Contains(answer, "read-only") {
			t.Errorf("a write after the promotion: %q", answer)
		}
	}
	if got := tell(t, "--addr", s.addr, "-c", "get fleet c"); !strings.Contains(got, "new") {
		t.Errorf("a row that the console has written: %q", got)
	}
	for _, served := range []*served{s, p} {
		if err := served.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
}

// A standby is compared with its primary on demand and on a schedule. One that differs
// serves nothing until it was rebuilt, and its files can be read.
func TestServeAVerification(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"), "--history", "off") // which would be a table too
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	serve := func(more ...string) *served {
		return startServer(t, append([]string{"--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--http", "127.0.0.1:0"}, more...)...)
	}
	s := serve()
	tell(t, "--addr", p.addr, "-c", "put fleet plane#1 meta:model=737")
	large := strings.Repeat("A320", 20<<10)
	for _, model := range []string{large, large, large, large, "A320"} { // more than what the standby shows of its log when it connects
		if got := tell(t, "--addr", p.addr, "-c", "put fleet plane#2 meta:model="+model+"@2026-01-02T03:04:05Z"); got != "" {
			t.Error(got)
		}
	}
	await(t, "A320", "--addr", s.addr, "-c", "get fleet plane#2")
	if got := tell(t, "replicas", "--addr", s.addr); strings.Contains(got, "verified") {
		t.Errorf("before a verification: %q", got)
	}
	want := regexp.MustCompile(`(?s)rows +cells +checksum.*equal +\(catalog\).*  2  +2  [0-9a-f]{16}  equal  +fleet\n` + s.addr + ` is equal to ` + p.addr + ` at position [0-9]+\n$`)
	if got := tell(t, "verify", "--addr", s.addr, "--against", p.addr); !want.MatchString(got) {
		t.Errorf("verify: %q", got)
	}
	if got := tell(t, "verify", "--addr", s.addr, "--against", p.addr, "--format", "json"); !strings.HasPrefix(got, `{"equal":true,"position":`) || !strings.Contains(got, `{"table":"fleet","equal":true,"standby":{"rows":2,"cells":2,`) {
		t.Errorf("verify: %q", got)
	}
	await(t, " equal 20", "replicas", "--addr", p.addr)
	if got := tell(t, "replicas", "--addr", s.addr); !strings.Contains(got, "verified at ") || !strings.Contains(got, ": equal at position ") {
		t.Errorf("replicas: %q", got)
	}
	if text := page(t, s.pages); !strings.Contains(text, "smolwc_standby_verify_equal 1") || !strings.Contains(text, "smolwc_standby_verify_tables 1\n") {
		t.Error("the metrics do not have the verification")
	}
	for _, wrong := range [][2]string{
		{s.addr + " --against 127.0.0.1:1", "this standby follows " + p.addr},
		{p.addr + " --against " + s.addr, "this server is no standby"},
		{s.addr + " --against " + dir, "copy --verify"},
		{s.addr + " --against " + p.addr + " --rate 1MB", "are about backups"},
		{s.addr + " --format json", "--format is about --against"},
	} {
		if got := tell(t, append([]string{"verify", "--addr"}, strings.Fields(wrong[0])...)...); !strings.Contains(got, wrong[1]) {
			t.Errorf("verify --addr %s: %q; want %q", wrong[0], got, wrong[1])
		}
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	forge(t, filepath.Join(dir, "s"), "plane#1", "plane#0")
	s = serve()
	differs := regexp.MustCompile(`(?s)DIFFERENT +fleet\n.*fleet: "plane#0" is not in the primary\n.*serves nothing until it is rebuilt`)
	if got := tell(t, "verify", "--addr", s.addr, "--against", p.addr); !differs.MatchString(got) {
		t.Errorf("verify: %q", got)
	}
	await(t, "737", "--addr", s.addr, "-c", "get fleet plane#1")
	if got := tell(t, "replicas", "--addr", s.addr); !strings.Contains(got, `different: row "plane#0" of table fleet is not in the primary`) {
		t.Errorf("replicas: %q", got)
	}
	if text := page(t, s.pages); !strings.Contains(text, "smolwc_standby_verify_differences_total 1") || !strings.Contains(text, "smolwc_standby_verify_equal 0") {
		t.Error("the metrics do not have the difference")
	}
	if got := tell(t, "--read-only", "--db", filepath.Join(dir, "s.diverged"), "-c", "get fleet plane#0"); !strings.Contains(got, "737") {
		t.Errorf("what was kept aside: %q", got)
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if n := strings.Count(s.log.String(), "has to be rebuilt"); n != 1 {
		t.Errorf("the log says %d times that the standby has to be rebuilt:\n%s", n, &s.log)
	}
	s = serve("--standby-verify-every", "1d") // the copy was not compared yet
	await(t, ": equal at position ", "replicas", "--addr", s.addr)
}

// forge replaces a text in the log of a closed database, with a checksum that fits: as if
// the memory of the machine had changed it.
func forge(t *testing.T, dir, text, with string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range logs {
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		place := strings.Index(string(log), text)
		if place < 0 {
			continue
		}
		copy(log[place:], with)
		const block = 32 << 10
		for at := place / block * block; at < len(log); {
			header := 7
			if kind := log[at+6]; kind > 8 { // of Pebble, with two numbers more
				header += 4 + 8
			}
			end := at + header + int(binary.LittleEndian.Uint16(log[at+4:]))
			if place < end {
				sum := crc32.Checksum(log[at+6:end], crc32.MakeTable(crc32.Castagnoli))
				binary.LittleEndian.PutUint32(log[at:], (sum>>15|sum<<17)+0xa282ead8)
				break
			}
			at = end
		}
		if err := os.WriteFile(path, log, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%q is not in the log", text)
}

// The changes that only a primary has that was replaced can be read, and made again.
func TestServeATail(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet change_stream=1d family meta")
	began := time.Now().UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=both")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	await(t, "both", "--addr", s.addr, "-c", "get fleet a")
	tell(t, "--addr", p.addr, "-c", "put fleet shared meta:x=too")
	await(t, "too", "--addr", s.addr, "-c", "get fleet shared")
	shared := lastToken(tell(t, "--addr", p.addr, "-c", "watch fleet until=now since="+began))
	_ = p.end(syscall.SIGKILL) // it was killed
	tell(t, "promote", "--addr", s.addr)
	tell(t, "--db", filepath.Join(dir, "p"), "-c", "put fleet 'b c' meta:x=mine@2026-01-02T03:04:05Z; delete fleet a meta:x")
	lost := lastToken(tell(t, "--db", filepath.Join(dir, "p"), "-c", "watch fleet until=now token="+shared))
	if shared == "" || lost == "" {
		t.Fatalf("the tokens are %q and %q", shared, lost)
	}
	tell(t, "--addr", s.addr, "-c", "put fleet new meta:x=theirs; delete fleet new")
	wantLost(t, s.addr, shared, lost)
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--addr", p.addr, "--standby-of", s.addr)
	await(t, "epoch 2", "replicas", "--addr", p.addr)
	kept := filepath.Join(dir, "p.diverged")
	got := tell(t, "tail", "show", kept)
	if !regexp.MustCompile(`(?s)^-- changes after position [0-9]+, up to [0-9]+: its changes after position .*\nput fleet "b c" meta:x="mine"@2026-01-02T03:04:05Z\n.*delete fleet a meta:x`).MatchString(got) {
		t.Errorf("tail show: %q", got)
	}
	if differ := tell(t, "copy", "--verify", "--from", kept, "--to", filepath.Join(dir, "p")); !strings.Contains(differ, `fleet row "b c" meta:"x"@1767323045000000: missing in the target`) {
		t.Errorf("copy --verify: %q", differ)
	}
	if again := tell(t, "--addr", s.addr, "-c", got); strings.Contains(again, "error") {
		t.Errorf("the changes made again: %q", again)
	}
	if got := tell(t, "--addr", s.addr, "-c", "scan fleet"); !strings.Contains(got, "mine") || strings.Contains(got, "both") {
		t.Errorf("after the changes: %q", got)
	}
	if got := tell(t, "tail", "show", kept, "--format", "jsonl"); !strings.Contains(got, `"table":"fleet","key":"b c","changes":[{"op":"set","c":"meta:x","t":"string","v":"mine","ts":1767323045000000}]}`) {
		t.Errorf("tail show: %q", got)
	}
	if got := tell(t, "tail", "show", filepath.Join(dir, "s")); !strings.Contains(got, "neither the file DIVERGED nor the file FENCED") || !strings.Contains(got, "smolwc copy --verify") {
		t.Errorf("tail show of another directory: %q", got)
	}
}

// Directories that a standby has kept aside are counted, until they are moved away.
func TestDivergedDirectoriesAreAMetric(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	await(t, "standby of "+p.addr+": connected", "replicas", "--addr", s.addr)
	_ = p.end(syscall.SIGKILL) // it was killed
	tell(t, "promote", "--addr", s.addr)
	tell(t, "--db", filepath.Join(dir, "p"), "-c", "put fleet own meta:x=mine")
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--standby-of", s.addr, "--http", "127.0.0.1:0")
	await(t, "epoch 2", "replicas", "--addr", p.addr)
	counts := func(want int) {
		t.Helper()
		if text := page(t, p.pages); !strings.Contains(text, fmt.Sprintf("\nsmolwc_diverged_directories %d\n", want)) {
			t.Errorf("the metric is not %d: %s", want, regexp.MustCompile("(?m)^smolwc_diverged.*").FindString(text))
		}
	}
	counts(1)
	for _, more := range []string{".2", ".3", ".4"} {
		if err := os.Mkdir(filepath.Join(dir, "p.diverged"+more), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	counts(4)
	if got := tell(t, "replicas", "--addr", p.addr); !strings.Contains(got, "(4 of at most 4)") || !strings.Contains(got, "the oldest is "+filepath.Join(dir, "p.diverged")+"\n") {
		t.Errorf("replicas: %q", got)
	}
	for _, gone := range []string{"", ".2", ".3", ".4"} {
		if err := os.Rename(filepath.Join(dir, "p.diverged"+gone), filepath.Join(dir, "moved"+gone)); err != nil {
			t.Fatal(err)
		}
	}
	counts(0)
}

// lastToken is the token of the last change that watch has printed.
func lastToken(watched string) string {
	_, token, _ := strings.Cut(watched[strings.LastIndex(strings.TrimSpace(watched), "\n")+1:], `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	return token
}

// wantLost goes on at the new primary after the token of a change that it has, and after that
// of a change that it does not have.
func wantLost(t *testing.T, addr, shared, lost string) {
	t.Helper()
	if got := tell(t, "--addr", addr, "-c", "watch fleet until=now token="+shared); !strings.Contains(got, "theirs") {
		t.Errorf("after a shared change: %q", got)
	}
	got := tell(t, "--addr", addr, "-c", "watch fleet until=now token="+lost)
	if !strings.Contains(got, addr+" was promoted without it (epoch 2, after position ") || !strings.Contains(got, "read the table anew") {
		t.Errorf("after a lost change: %q", got)
	}
	db, err := client.Dial(addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, err = range db.Table("fleet").Changes(t.Context(), query.ChangesRequest{Token: lost, Until: cells.TimestampOf(time.Now())}) {
		break
	}
	if !errors.Is(err, query.ErrChangesGone) || query.KindOf(err) != query.KindFailedPrecondition || strings.Count(err.Error(), "not kept") != 1 {
		t.Errorf("a client that goes on after a lost change: %v", err)
	}
}

// A primary that was replaced and has written nothing since says so.
func TestTheTailOfAPrimaryWithoutChanges(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"), "--history", "off")
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=both")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	await(t, "both", "--addr", s.addr, "-c", "get fleet a")
	tell(t, "promote", "--addr", s.addr)
	await(t, "takes no writes", "replicas", "--addr", p.addr)
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	want := regexp.MustCompile(`/p has no changes of its own: it ends at position ([0-9]+), and the server that was promoted has all up to [0-9]+\n$`)
	got := tell(t, "tail", "show", filepath.Join(dir, "p"))
	if !want.MatchString(got) || !strings.HasPrefix(got, "-- ") || strings.Count(got, "\n") != 1 {
		t.Errorf("tail show: %q", got)
	}
	if got := tell(t, "tail", "show", filepath.Join(dir, "p"), "--format", "jsonl"); !want.MatchString(got) || strings.HasPrefix(got, "-- ") {
		t.Errorf("tail show: %q", got)
	}
}

// A server that would follow itself is found by its addresses, however they are written.
func TestSameServer(t *testing.T) {
	for _, c := range []struct {
		of, addr string
		same     bool
	}{
		{"127.0.0.1:8086", "127.0.0.1:8086", true},
		{"localhost:8086", "127.0.0.1:8086", true},
		{"127.0.0.1:8086", ":8086", true},
		{"127.0.0.1:8086", "0.0.0.0:8086", true},
		{"[::ffff:127.0.0.1]:8086", "127.0.0.1:8086", true},
		{"0.0.0.0:8086", "127.0.0.1:8086", true},
		{":8086", "127.0.0.1:8086", true},
		{"127.0.0.1:8087", "127.0.0.1:8086", false},
		{"127.0.0.2:8086", "127.0.0.1:8086", false},
		{"192.0.2.1:8086", "0.0.0.0:8086", false},
		{"no-such-host.invalid:8086", "127.0.0.1:8086", false},
	} {
		if _, err := net.LookupHost("localhost"); err != nil && strings.HasPrefix(c.of, "localhost:") {
			t.Logf("without localhost, which a bare root does not name: %v", err)
			continue
		}
		if got := sameServer(c.of, c.addr); got != c.same {
			t.Errorf("%s and %s: %v", c.of, c.addr, got)
		}
	}
}
