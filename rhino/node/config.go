package node

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/smolwc/smolwc/schema"
	"go.yaml.in/yaml/v3"
)

// A Config says which regions there are, and where. All processes have the same one.
type Config struct {
	// Secret proves a server to the others; "" only if nobody else can connect.
	Secret string
	// Insecure permits addresses that other machines reach without TLS.
	Insecure bool
	TLS      TLS
	// Deadline bounds every request.
	Deadline time.Duration
	// Memory is for the blocks and writes of each database, in bytes.
	Memory  int64
	Control Place
	Regions []Region
}

// TLS are files in PEM form. Cert is "" without TLS.
type TLS struct{ Cert, Key, CA string }

// A Place is where a server is.
type Place struct {
	// Address is where others find it: HOST:PORT.
	Address string
	// Listen is where it listens.
	Listen string
	// DataDir is the directory of its database.
	DataDir string
}

// A Region is a region and its front.
type Region struct {
	Name string
	Place
	Front Place // without a DataDir
}

// The limits and defaults of a Config.
const (
	defaultDeadline = 2 * time.Second
	minDeadline     = 50 * time.Millisecond
	maxDeadline     = time.Minute
	defaultMemory   = 64 << 20
	minMemory       = 16 << 20
	minSecret       = 16 // bytes
	maxRegions      = 64
	controlName     = "control"
)

// LoadConfig reads a file. Faults in it are one [*schema.Errors], each with its line.
func LoadConfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration of the regions: %w", err)
	}
	c, err := ParseConfig(text)
	if e, ok := err.(*schema.Errors); ok {
		e.File = path
	}
	return c, err
}

// ParseConfig reads the text of a configuration.
func ParseConfig(text []byte) (*Config, error) {
	root, err := schema.ParseYAML(text)
	if err != nil {
		return nil, err
	}
	r := &reader{}
	c := r.config(root)
	if len(r.faults) > 0 {
		return nil, &schema.Errors{Faults: r.faults}
	}
	return c, nil
}

// A reader collects faults.
type reader struct{ faults []schema.Fault }

func (r *reader) fault(n *yaml.Node, path, format string, args ...any) {
	line := 0
	if n != nil {
		line = n.Line
	}
	r.faults = append(r.faults, schema.Fault{Line: line, Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (r *reader) keys(n *yaml.Node, path string, known ...string) map[string]*yaml.Node {
	values, faults := schema.CheckKeys(n, path, known)
	r.faults = append(r.faults, faults...)
	if values == nil {
		values = map[string]*yaml.Node{}
	}
	return values
}

// text is a single value; "" and a fault for others, and the default if it is absent.
func (r *reader) text(n *yaml.Node, path, otherwise string) string {
	switch {
	case n == nil:
		return otherwise
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "":
		r.fault(n, path, "want a single value")
		return otherwise
	}
	return n.Value
}

// directory is text for the name of a directory.
func (r *reader) directory(n *yaml.Node, path, otherwise string) string {
	dir := r.text(n, path, otherwise)
	if scheme, _, ok := strings.Cut(dir, "://"); ok {
		r.fault(n, path, "it is a URL; regions keep their databases in directories, and cannot use %s", scheme)
		return otherwise
	}
	return dir
}

func (r *reader) config(root *yaml.Node) *Config {
	v := r.keys(root, "", "secret", "insecure", "tls", "deadline", "memory", "data_dir", "control", "regions")
	c := &Config{Deadline: defaultDeadline, Memory: defaultMemory}
	c.Secret = r.text(v["secret"], "secret", "")
	if n := v["secret"]; n != nil && len(c.Secret) < minSecret {
		r.fault(n, "secret", "it has %d bytes; want at least %d", len(c.Secret), minSecret)
	}
	if n := v["insecure"]; n != nil && n.Decode(&c.Insecure) != nil {
		r.fault(n, "insecure", "%q is neither true nor false", n.Value)
	}
	if n := v["tls"]; n != nil {
		c.TLS = r.tls(n)
	}
	r.deadline(v["deadline"], c)
	r.memory(v["memory"], c)
	dir := r.directory(v["data_dir"], "data_dir", "regions")
	c.Control = r.place(v["control"], controlName, r.keys(v["control"], controlName, "address", "listen", "data_dir"), dir, controlName)
	c.Regions = r.regions(v["regions"], dir)
	r.together(root, c)
	return c
}

func (r *reader) tls(n *yaml.Node) TLS {
	v := r.keys(n, "tls", "cert", "key", "ca")
	t := TLS{r.text(v["cert"], "tls.cert", ""), r.text(v["key"], "tls.key", ""), r.text(v["ca"], "tls.ca", "")}
	if t.Cert == "" || t.Key == "" {
		r.fault(n, "tls", "cert and key go together; one of them is missing")
	}
	return t
}

func (r *reader) deadline(n *yaml.Node, c *Config) {
	if n == nil {
		return
	}
	d, err := schema.ParseAge(n.Value)
	if err != nil || d < minDeadline || d > maxDeadline {
		r.fault(n, "deadline", "%q is not a time from 50ms to 1m", n.Value)
	}
	c.Deadline = d
}

func (r *reader) memory(n *yaml.Node, c *Config) {
	if n == nil {
		return
	}
	m, err := schema.ParseSize(n.Value)
	if err != nil || m < minMemory {
		r.fault(n, "memory", "%q is not a size of at least 16MiB", n.Value)
	}
	c.Memory = m
}

// place reads the address of a server; its other settings have defaults.
func (r *reader) place(n *yaml.Node, path string, v map[string]*yaml.Node, dir, name string) Place {
	p := Place{Address: r.address(n, v["address"], path+".address")}
	p.Listen = p.Address
	if l := v["listen"]; l != nil {
		p.Listen = r.address(n, l, path+".listen")
	}
	p.DataDir = r.directory(v["data_dir"], path+".data_dir", filepath.Join(dir, name))
	return p
}

func (r *reader) address(parent, n *yaml.Node, path string) string {
	if n == nil {
		r.fault(parent, path, "it is missing; want HOST:PORT, as in 127.0.0.1:3001")
		return ""
	}
	_, port, err := net.SplitHostPort(n.Value)
	if _, portErr := net.LookupPort("tcp", port); err != nil || portErr != nil || port == "" {
		r.fault(n, path, "%q is not HOST:PORT, as in 127.0.0.1:3001", n.Value)
	}
	return n.Value
}

func (r *reader) regions(list *yaml.Node, dir string) (all []Region) {
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > maxRegions {
		r.fault(list, "regions", "want a list of 1 to %d regions, each with name, address and front", maxRegions)
		return nil
	}
	for i, n := range list.Content {
		path := fmt.Sprintf("regions[%d]", i)
		v := r.keys(n, path, "name", "address", "listen", "front", "front_listen", "data_dir")
		name := r.text(v["name"], path+".name", "")
		if !isName(name) || name == controlName {
			r.fault(n, path+".name", "%q is not a name of a region; want 1 to 64 lower-case letters, digits and hyphens, and not control", name)
			name = fmt.Sprint(i)
		}
		g := Region{Name: name, Place: r.place(n, path, v, dir, name)}
		g.Front.Address = r.address(n, v["front"], path+".front")
		g.Front.Listen = g.Front.Address
		if l := v["front_listen"]; l != nil {
			g.Front.Listen = r.address(n, l, path+".front_listen")
		}
		all = append(all, g)
	}
	return all
}

// isName reports whether a region can have the name, which is also a folder's.
func isName(name string) bool {
	return name != "" && len(name) <= 64 && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// together checks what concerns several settings.
func (r *reader) together(root *yaml.Node, c *Config) {
	if len(r.faults) > 0 {
		return
	}
	seen := map[string]string{}
	once := func(what, value, path string) {
		if other := seen[what+value]; other != "" {
			r.fault(root, path, "%s %q is that of %s too", what, value, other)
		}
		seen[what+value] = path
	}
	private := true
	for _, s := range c.servers() {
		once("listen address", s.Listen, s.path)
		if s.DataDir != "" {
			once("data_dir", filepath.Clean(s.DataDir), s.path)
		}
		if isLoopback(s.Listen) {
			continue
		}
		private = false
		if c.TLS.Cert == "" && !c.Insecure {
			r.fault(root, s.path, "other machines reach %s; give tls, or insecure: true", s.Listen)
		}
	}
	if !private && c.Secret == "" {
		r.fault(root, "secret", "it is missing; the servers need one if other machines reach them")
	}
	for i, g := range c.Regions {
		once("name", g.Name, fmt.Sprintf("regions[%d]", i))
	}
}

type server struct {
	Place
	path string
}

func (c *Config) servers() []server {
	all := []server{{c.Control, controlName}}
	for i, g := range c.Regions {
		path := fmt.Sprintf("regions[%d]", i)
		all = append(all, server{g.Place, path}, server{g.Front, path + ".front"})
	}
	return all
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
