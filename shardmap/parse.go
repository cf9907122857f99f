package shardmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/internal/excerpt"
)

// The words of the file.
const (
	shards    = "num_shards"
	onlyShard = "00000"
	leads     = "M"
	follows   = "S"
)

// A SyntaxError says what is wrong with the text of a map, and where.
type SyntaxError struct {
	Line int // counted from 1
	Text string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// Parse reads the text of a map. It takes nothing that it does not know: a member twice, a
// state other than M and S, an instance that no server leads or that two lead, and a server
// that leads one instance and is a standby of another are *[SyntaxError]s.
func Parse(text []byte) (*Map, error) {
	p := &parser{text: text, json: jsontext.NewDecoder(bytes.NewBuffer(text)), roles: map[string]role{}}
	m := new(Map)
	err := p.object("a shard map", func(name string) error {
		r, err := p.resource(name)
		m.Resources = append(m.Resources, r)
		return err
	})
	if err == nil {
		err = p.end()
	}
	if err == nil && len(m.Resources) == 0 {
		err = p.wrong("the map names no instance")
	}
	if err != nil {
		return nil, p.placed(err)
	}
	m.make()
	return m, nil
}

type parser struct {
	text  []byte
	json  *jsontext.Decoder
	roles map[string]role // by the address
}

// A role is a server's role, by the first resource that names it.
type role struct {
	in      string
	standby bool
	leader  string // of a standby
}

func (p *parser) wrong(format string, args ...any) error {
	return &SyntaxError{Line: p.lineAt(p.json.InputOffset()), Text: fmt.Sprintf(format, args...)}
}

func (p *parser) lineAt(offset int64) int {
	return 1 + bytes.Count(p.text[:min(int(offset), len(p.text))], []byte("\n"))
}

// placed gives an error of the JSON its place.
func (p *parser) placed(err error) error {
	if _, ok := errors.AsType[*SyntaxError](err); ok {
		return err
	}
	bad, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.wrong("the file ends early; it may not be written whole yet")
	case ok && errors.Is(err, jsontext.ErrDuplicateName):
		return &SyntaxError{p.lineAt(bad.ByteOffset), fmt.Sprintf("%q is there twice", excerpt.Of(bad.JSONPointer.LastToken()))}
	case ok:
		return &SyntaxError{p.lineAt(bad.ByteOffset), "the file is not JSON: " + bad.Err.Error()}
	}
	return p.wrong("the file is not JSON: %v", err)
}

// open reads the beginning of an object or a list.
func (p *parser) open(kind jsontext.Kind, what, want string) error {
	t, err := p.json.ReadToken()
	if err == nil && t.Kind() != kind {
		err = p.wrong("%s is %s; want %s", what, kinds[t.Kind()], want)
	}
	return err
}

var kinds = map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "text", '0': "a number", 't': "true", 'f': "false", 'n': "null"}

// object reads an object; member reads the value of each member.
func (p *parser) object(what string, member func(name string) error) error {
	if err := p.open('{', what, "an object in braces"); err != nil {
		return err
	}
	for p.json.PeekKind() == '"' {
		name, err := p.json.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err := p.json.ReadToken() // the end, or an error instead
	return err
}

func (p *parser) end() error {
	_, err := p.json.ReadToken()
	switch err {
	case io.EOF:
		return nil
	case nil:
		return p.wrong("there is text after the map")
	}
	return err
}

func (p *parser) resource(name string) (Resource, error) {
	r := Resource{Name: name}
	full := name
	if !strings.Contains(name, "/") {
		full = "projects/p/instances/" + name
	}
	if err := wire.CheckInstance(full); err != nil {
		return r, p.wrong("%q names no instance; want projects/P/instances/I, or I", excerpt.Of(name))
	}
	counted := false
	err := p.object(strconv.Quote(excerpt.Of(name)), func(member string) error {
		if member == shards {
			counted = true
			return p.count(name)
		}
		return p.server(&r, member)
	})
	switch {
	case err != nil:
	case !counted:
		err = p.wrong("%s has no num_shards; want \"num_shards\": 1", name)
	case r.Leader.Addr == "":
		err = p.wrong("no server leads %s; want one with [\"00000:M\"]", name)
	default:
		err = p.takeRoles(r)
	}
	return r, err
}

// count reads num_shards.
func (p *parser) count(name string) error {
	v, err := p.json.ReadValue()
	if err != nil {
		return err
	}
	if string(v) != "1" {
		return p.wrong("%s has num_shards %s; smolwc takes 1: an instance lives on one server as a whole, so use several instances", name, excerpt.Of(string(v)))
	}
	return nil
}

// server reads a server of a resource, and its shards.
func (p *parser) server(r *Resource, key string) error {
	s, err := parseServer(key)
	if err != nil {
		return p.wrong("%s: %v", r.Name, err)
	}
	if s.Addr == r.Leader.Addr || r.isStandby(s.Addr) {
		return p.wrong("%s has the server %s twice", r.Name, s.Addr)
	}
	state, err := p.shard(r.Name, s.Addr)
	switch {
	case err != nil:
		return err
	case state == follows:
		r.Standbys = append(r.Standbys, s)
	case r.Leader.Addr != "":
		return p.wrong("%s and %s both lead %s; only one server may have M", r.Leader.Addr, s.Addr, r.Name)
	default:
		r.Leader = s
	}
	return nil
}

// shard reads the shards of a server: a list with the only one. It returns its state.
func (p *parser) shard(name, addr string) (state string, err error) {
	if err := p.open('[', "the value of "+addr+" in "+name, "a list of shards, as in [\"00000:M\"]"); err != nil {
		return "", err
	}
	for p.json.PeekKind() != ']' {
		t, err := p.json.ReadToken()
		if err != nil {
			return "", err
		}
		number, s, ok := strings.Cut(t.String(), ":")
		switch {
		case t.Kind() != '"' || !ok:
			return "", p.wrong("the shard of %s in %s is %s; want NUMBER:STATE, as in \"00000:M\"", addr, name, excerpt.Of(t.String()))
		case number != onlyShard:
			return "", p.wrong("%s has shard %q of %s; the only shard is 00000, since num_shards is 1", addr, excerpt.Of(number), name)
		case s != leads && s != follows:
			return "", p.wrong("the state of %s in %s is %q; want M, the server leads, or S, it is a standby", addr, name, excerpt.Of(s))
		case state != "":
			return "", p.wrong("%s has shard 00000 of %s twice", addr, name)
		}
		state = s
	}
	if _, err := p.json.ReadToken(); err != nil {
		return "", err
	}
	if state == "" {
		return "", p.wrong("%s has no shard of %s; leave the server out, or give it \"00000:M\" or \"00000:S\"", addr, name)
	}
	return state, nil
}

// takeRoles refuses a map that no servers could follow: a server is a primary or a standby
// of one primary, with all of its instances.
func (p *parser) takeRoles(r Resource) error {
	if was, ok := p.roles[r.Leader.Addr]; ok && was.standby {
		return p.wrong("%s leads %s and is a standby in %s; a server is one of both, with all of its instances", r.Leader.Addr, r.Name, was.in)
	}
	p.roles[r.Leader.Addr] = role{in: r.Name}
	for _, s := range r.Standbys {
		was, ok := p.roles[s.Addr]
		switch {
		case ok && !was.standby:
			return p.wrong("%s leads %s and is a standby in %s; a server is one of both, with all of its instances", s.Addr, was.in, r.Name)
		case ok && was.leader != r.Leader.Addr:
			return p.wrong("%s is a standby of %s in %s and of %s in %s; a standby has one primary", s.Addr, was.leader, was.in, r.Leader.Addr, r.Name)
		}
		p.roles[s.Addr] = role{in: r.Name, standby: true, leader: r.Leader.Addr}
	}
	return nil
}

// parseServer reads HOST:PORT:AZ_PG, or HOST:PORT. An IPv6 address is in brackets.
func parseServer(key string) (s Server, err error) {
	rest, host := key, ""
	if strings.HasPrefix(key, "[") {
		end := strings.Index(key, "]")
		host, rest = key[:end+1], key[end+1:]
	}
	parts := strings.Split(rest, ":")
	if len(parts) != 2 && len(parts) != 3 {
		return s, fmt.Errorf("%q is no server; want HOST:PORT:AZ_PG or HOST:PORT, with an IPv6 address in brackets", excerpt.Of(key))
	}
	s.Addr = host + parts[0] + ":" + parts[1]
	if len(parts) == 3 {
		s.Place = parts[2]
	}
	h, port, err := net.SplitHostPort(s.Addr)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || n == 0 || h == "" || strings.ContainsAny(h, " \t\n/,%@") || len(parts) == 3 && s.Place == "" {
		return s, fmt.Errorf("%q is no server; want HOST:PORT:AZ_PG or HOST:PORT, as in db1:8086", excerpt.Of(key))
	}
	if plain := net.JoinHostPort(h, strconv.FormatUint(n, 10)); s.Addr != plain {
		return s, fmt.Errorf("%q is no server; its address is written %s", excerpt.Of(key), plain)
	}
	return s, nil
}
