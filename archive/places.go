package archive

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// AnyPlace, as an element of [Places], allows every target.
const AnyPlace = "*"

// Places are the targets that a less trusted caller may name: these, and all targets
// below them. Symbolic links in a path are resolved first. An object store's target is
// below another when bucket, endpoint and region are the same.
type Places []string

// Check returns an error if a place is not a valid target. Paths of directories may be
// relative.
func (p Places) Check() error {
	for _, place := range p {
		if place == AnyPlace {
			continue
		}
		if _, err := parseTarget(place); err != nil {
			return fail("allow a place", err)
		}
	}
	return nil
}

// Allow returns an error when a target is not at or below one of the places: it
// matches [ErrDenied]. The path of a directory must be absolute.
func (p Places) Allow(target string) error { return fail("look at the target", p.allow(target)) }

func (p Places) allow(target string) error {
	t, err := parseTarget(target)
	if err != nil {
		return err
	}
	if t.s3 == nil && !filepath.IsAbs(target) {
		return targetErrorf("%s is a relative path; name an absolute one", target)
	}
	for _, place := range p {
		if place == AnyPlace {
			return nil
		}
		if in, err := parseTarget(place); err == nil && t.below(in) {
			return nil
		}
	}
	if len(p) == 0 {
		return fmt.Errorf("%w: no place is allowed", ErrDenied)
	}
	return fmt.Errorf("%w: %s is not at or below %s", ErrDenied, target, strings.Join(p, " or "))
}

func (t target) below(other target) bool {
	switch {
	case t.s3 == nil && other.s3 == nil:
		rel, err := filepath.Rel(resolved(other.dir), resolved(t.dir))
		return err == nil && filepath.IsLocal(rel)
	case t.s3 == nil || other.s3 == nil:
		return false
	}
	at, in := *t.s3, *other.s3
	rest, ok := strings.CutPrefix(at.prefix, in.prefix)
	at.prefix, in.prefix = "", ""
	// Some object stores keep objects as files, and would follow .. upwards.
	return ok && at == in && !slices.Contains(strings.Split(rest, "/"), "..")
}

// resolved is a path without symbolic links, as far as it exists.
func resolved(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			rest, _ := filepath.Rel(at, path)
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}
