package archive

import (
	"net/url"
	"path/filepath"
	"strings"
)

// A target is a parsed place for backups.
type target struct {
	dir string    // an absolute path; "" when it is an object store's
	s3  *s3Target // nil when it is a directory
}

func parseTarget(text string) (target, error) {
	switch scheme, _, ok := strings.Cut(text, "://"); {
	case text == "":
		return target{}, targetErrorf("a target is needed: a directory, or s3://BUCKET/PREFIX")
	case !ok:
		dir, err := filepath.Abs(text)
		return target{dir: dir}, err
	case scheme != "s3":
		return target{}, targetErrorf("%s is not a target; a directory and s3://BUCKET/PREFIX are targets", text)
	}
	t, err := parseS3(text)
	return target{s3: &t}, err
}

// An s3Target is the content of a URL of the form
// s3://BUCKET/PREFIX?endpoint=…&region=….
type s3Target struct {
	bucket   string
	prefix   string // "" or with a slash at its end
	endpoint string // "": Amazon's
	region   string // "": as the environment says
	instance bool   // access keys come from the Amazon machine's role
}

func parseS3(target string) (s3Target, error) {
	u, err := url.Parse(target)
	if err != nil {
		return s3Target{}, targetErrorf("%s is not a URL: %v", target, err)
	}
	t := s3Target{bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	switch {
	case t.bucket == "":
		return t, targetErrorf("%s names no bucket; write s3://BUCKET/PREFIX", target)
	case u.User != nil:
		return t, targetErrorf("a target has no access keys in it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Fragment != "":
		return t, targetErrorf("%s has a # in it; write %%23", target)
	}
	if t.prefix != "" {
		t.prefix += "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, targetErrorf("%s: %v", target, err)
	}
	for name, values := range query {
		switch name {
		case "endpoint":
			t.endpoint = values[0]
			if e, err := url.Parse(t.endpoint); err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" {
				return t, targetErrorf("endpoint %q is not a URL such as https://s3.example.com or http://127.0.0.1:7070", t.endpoint)
			}
		case "region":
			t.region = values[0]
		case "credentials":
			if t.instance = values[0] == "instance"; !t.instance {
				return t, targetErrorf("credentials is %q; it can be instance, for the role of a machine of Amazon's, or be left out", values[0])
			}
		default:
			return t, targetErrorf("a target has no parameter %q; it has endpoint, region and credentials", name)
		}
	}
	return t, nil
}
