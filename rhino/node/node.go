// Package node runs the servers of regions: fronts for clients, regions with the rows of
// shards, the control with all regions' facts, and the replicator between them. One
// process runs all of them, or some.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
)

// A Role is a task of a process.
type Role string

// The roles.
const (
	FrontRole      Role = "front"
	RegionRole     Role = "region"
	ControlRole    Role = "control"
	ReplicatorRole Role = "replicator"
)

func allRoles() []Role { return []Role{FrontRole, RegionRole, ControlRole, ReplicatorRole} }

// ParseRoles reads the names of roles; without names it gives all of them.
func ParseRoles(names []string) (all []Role, err error) {
	if len(names) == 0 {
		return allRoles(), nil
	}
	for _, name := range names {
		if !slices.Contains(allRoles(), Role(name)) {
			return nil, fmt.Errorf("there is no role %q; the roles are front, region, control and replicator", name)
		}
		all = append(all, Role(name))
	}
	return all, nil
}

// Options say what a process runs. The zero Options are valid.
type Options struct {
	// Roles are its tasks; an empty list means all of them.
	Roles []Role
	// Regions are the regions whose fronts and databases it runs, by name; an empty list
	// means all. The control and the replicator are for all regions.
	Regions []string
	// Listen listens on an address; nil is net.Listen.
	Listen func(network, address string) (net.Listener, error)
	// Ready, if it is not nil, is called when all servers listen, and after Pages.
	Ready func()
	// Pages, if it is not nil, begins to serve the pages for monitoring: /metrics in
	// Prometheus's form, /healthz, and /readyz, which is 503 while a region does not have all
	// facts or a front does not reach its region. The function that it returns ends that.
	Pages func(http.Handler) (stop func())
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
}

// ErrConfig matches, with errors.Is, an error about what the configuration or the
// options name: a region, or a file of TLS.
var ErrConfig = errors.New("the configuration does not fit")

// ErrDatabase matches, with errors.Is, an error of opening a database.
var ErrDatabase = errors.New("opening a database")

// Run runs the servers until the context ends. Then requests under way are answered, and
// the databases are closed.
func Run(ctx context.Context, c *Config, o Options) error {
	if c == nil || ctx == nil {
		return errors.New("the configuration or the context is nil")
	}
	n := newNode(c, o)
	err := n.open(ctx)
	if err == nil {
		err = n.serve(ctx)
	}
	return errors.Join(err, n.close())
}

func (o Options) defaults() Options {
	if len(o.Roles) == 0 {
		o.Roles = allRoles()
	}
	if o.Listen == nil {
		o.Listen = net.Listen
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// names are the names of all regions.
func (c *Config) names() (all []string) {
	for _, g := range c.Regions {
		all = append(all, g.Name)
	}
	return all
}

// find is the region of a name.
func (c *Config) find(name string) (Region, error) {
	for _, g := range c.Regions {
		if g.Name == name {
			return g, nil
		}
	}
	return Region{}, fmt.Errorf("%w: there is no region %q; the regions are %s", ErrConfig, name, strings.Join(c.names(), ", "))
}
