package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/client"
)

// cookie is the name of the cookie with a person's token.
const cookie = "smolwc_token"

// A visit is one request of a person.
type visit struct {
	*client.Client
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	token   string
}

// A page answers a visit. Its error is shown on a page.
type page func(v *visit) error

// maxForm is the size of a form's body in bytes.
const maxForm = 4 << 20

// handle finds out whose visit a request is, and lets no page of another site make one.
func (c *Console) handle(p page) http.Handler {
	return c.handleForm(p, func(v *visit) error {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		return nil
	})
}

// handleForm is handle for a form that receive bounds or reads.
func (c *Console) handleForm(p page, receive func(*visit) error) http.Handler {
	return c.guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{console: c, w: w, r: r, token: tokenOf(r)}
		if c.options.Tokens.Admit("") == nil { // no tokens are required, and a page can make up a cookie
			v.token = ""
		}
		if err := c.options.Tokens.Admit(v.token); err != nil {
			v.signIn(err)
			return
		}
		if v.token == "" && !ownHost(r.Host) {
			v.fail(http.StatusMisdirectedRequest, "without tokens, these pages answer to localhost and addresses alone, not to "+r.Host+"; smolwc token create makes a token")
			return
		}
		if err := receive(v); err != nil {
			v.fail(http.StatusRequestEntityTooLarge, err.Error())
			return
		}
		if r.Method != http.MethodGet && !hmac.Equal([]byte(r.FormValue("form")), []byte(v.formToken())) {
			v.fail(http.StatusForbidden, "the form is too old, or is not of this site; load the page again")
			return
		}
		var err error
		if v.Client, err = c.clients.of(c, v.token); err == nil {
			err = p(v)
		}
		if refused := c.options.Tokens.Admit(v.token); err != nil && refused != nil { // it was revoked meanwhile
			v.signIn(refused)
			return
		}
		if err != nil && r.Context().Err() == nil {
			v.fail(statusOf(err), err.Error())
		}
	}))
}

// signIn asks for a token: a page shows the form of one, and a part of a page is left to its script, which
// asks in a dialog, so that the page keeps what was typed.
func (v *visit) signIn(why error) {
	to := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet { // the page with the form
		for _, act := range []string{"/change", "/preview", "/cancel"} {
			to = strings.TrimSuffix(to, act)
		}
	}
	to = "/login?" + url.Values{"to": {to}}.Encode()
	if v.r.Header.Get("HX-Request") == "" {
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
		return
	}
	p := struct{ To, Why string }{to, "this server wants a token"}
	if v.token != "" {
		p.Why = why.Error()
	}
	v.header().WriteHeader(http.StatusUnauthorized)
	_ = v.show("signin", "Token", p)
}

// admitted tells the script of a page, before it sends a form, that the server runs and takes the person's
// token, and gives the token of forms of now: forms of before a restart or another token have an old one.
func admitted(v *visit) error {
	v.w.Header().Set("Form-Token", v.formToken())
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

func tokenOf(r *http.Request) string {
	if found, err := r.Cookie(cookie); err == nil {
		return found.Value
	}
	return ""
}

// secret signs the tokens of forms. It is the process's, so that a form is still good when a standby was promoted since
// it was loaded, which makes a new Console.
var secret = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
})

// formToken proves that a form is of this server and for this person.
func (v *visit) formToken() string {
	sum := hmac.New(sha256.New, secret())
	sum.Write([]byte(v.token))
	return hex.EncodeToString(sum.Sum(nil))
}

func (v *visit) fail(code int, message string) {
	v.header().WriteHeader(code)
	_ = v.show("error", "Error", struct {
		Code    int
		Message string
	}{code, message})
}

// A layout is what a template gets.
type layout struct {
	Title     string
	Page      any
	Part      bool   // the page alone, to be put into another one
	At        string // the path of the page
	HasToken  bool   // the person has shown a token
	FormToken string
	Table     string // that the page is about, "" for other pages
	Sent      bool   // the page answers a form
	Frame     *frame // nil for a part, and for people who have shown no token
}

// show writes a page.
func (v *visit) show(name, title string, page any) error {
	l := layout{Title: title, Page: page, Part: v.r.Header.Get("HX-Request") != "", At: v.r.URL.Path, HasToken: v.token != "", FormToken: v.formToken(), Table: v.r.PathValue("table"), Sent: v.r.Method == http.MethodPost}
	if !l.Part {
		l.Frame = v.frame()
	}
	return templates().pages[name].ExecuteTemplate(v.header(), "layout", l)
}

// policy lets pages load from this server alone, and run no script or style that is
// written in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (v *visit) header() http.ResponseWriter {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Cache-Control", "no-store")
	return v.w
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) { c.loginPage(w, r, "") }

type loginForm struct {
	To, Problem string
	Insecure    bool // others can read what the browser sends
}

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request, problem string) {
	v := &visit{console: c, w: w, r: r}
	if problem != "" {
		w.WriteHeader(http.StatusForbidden)
	}
	_ = v.show("login", "Token", loginForm{here(r.FormValue("to")), problem, !isPrivate(r)})
}

// isPrivate reports whether nobody else can read what the browser sends.
func isPrivate(r *http.Request) bool {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	at := net.ParseIP(strings.Trim(name, "[]"))
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || name == "localhost" || at != nil && at.IsLoopback()
}

// here is a path of this site, / for any other address.
func here(to string) string {
	if u, err := url.Parse(to); err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
		return "/"
	}
	return to
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	if err := c.guard.Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	token := strings.TrimSpace(r.FormValue("token"))
	if !isPrivate(r) {
		c.loginPage(w, r, "the token was sent without TLS; revoke it")
		return
	}
	if err := c.options.Tokens.Admit(token); err != nil {
		c.loginPage(w, r, err.Error())
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, here(r.FormValue("to")), http.StatusSeeOther)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	if err := c.guard.Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// clients are the clients of the server, one for each token that was used lately.
type clients struct {
	mu    sync.Mutex
	known map[string]*keptClient // by token
}

type keptClient struct {
	*client.Client
	used time.Time
}

// maxClients is how many tokens have a client at a time; the one that was used longest ago
// goes first. Its calls under way fail.
const maxClients = 256

func (k *clients) of(c *Console, token string) (*client.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.known[token]; found != nil {
		found.used = time.Now()
		return found.Client, nil
	}
	made, err := client.Dial("console", client.Options{Instance: c.options.Instance, Token: token, Connect: func(ctx context.Context) (net.Conn, error) { return c.connect(ctx) }})
	if err != nil {
		return nil, err
	}
	if k.known == nil {
		k.known = map[string]*keptClient{}
	}
	if len(k.known) == maxClients {
		k.dropOldest()
	}
	k.known[token] = &keptClient{made, time.Now()}
	return made, nil
}

func (k *clients) dropOldest() {
	oldest := ""
	for token, c := range k.known {
		if first := k.known[oldest]; first == nil || c.used.Before(first.used) {
			oldest = token
		}
	}
	_ = k.known[oldest].Close() // it only had memory
	delete(k.known, oldest)
}

func (k *clients) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.known {
		_ = c.Close() // the process ends with it
	}
	k.known = nil
}
