package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func (c *command) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens that clients of the server need",
		Long: `smolwc token manages the tokens of a database. As soon as there is one,
smolwc serve requires a token of every client. A token's rights are to read the
rows of a table, to write them too, or to do everything with the table.

Tokens are in tokens.json in the database's directory, without their secrets. The
command works while the server runs; the server sees the change within a second.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("token needs a command: create, list or revoke")
		},
	}
	cmd.AddCommand(c.tokenCreateCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return c.listTokens() },
	}, &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a token",
		Args:  oneArg("NAME"),
		RunE:  func(_ *cobra.Command, args []string) error { return c.revokeToken(args[0]) },
	})
	return cmd
}

func (c *command) tokenCreateCommand() *cobra.Command {
	var read, write, admin []string
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token and print its secret, which is shown only once",
		Long: `create makes a token and prints its secret, once. TABLE is the name of a table
as the shell writes it: fleet, or p/i/fleet in another instance. A * at the end
stands for any ending: p/i/* is all tables of an instance, and * is all tables.

--write includes reading. --admin includes both, and creating, changing and
dropping the tables that the name stands for.`,
		Example: `  smolwc token create dashboard --read fleet
  smolwc token create loader --write 'p/i/*' --read fleet --expires 30d
  smolwc token create operator --admin '*'`,
		Args: oneArg("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			var grants []server.Grant
			for _, of := range []struct {
				right  server.Right
				tables []string
			}{{server.Read, read}, {server.Write, write}, {server.Admin, admin}} {
				for _, t := range of.tables {
					grants = append(grants, server.Grant{Right: of.right, Tables: t})
				}
			}
			return c.createToken(args[0], grants, expires)
		},
	}
	cmd.Flags().StringSliceVar(&read, "read", nil, "let it read `TABLE`; may be repeated")
	cmd.Flags().StringSliceVar(&write, "write", nil, "let it read and write `TABLE`; may be repeated")
	cmd.Flags().StringSliceVar(&admin, "admin", nil, "let it do everything with `TABLE`; may be repeated")
	cmd.Flags().Var((*ageFlag)(&expires), "expires", "let it expire after `D`, such as 30d or 12h (default never)")
	return cmd
}

// tokens returns the tokens of the configuration's database. The database is not
// opened; a server may have it open.
func (c *command) tokens() (tokens *server.Tokens, dir string, err error) {
	cfg, err := c.load()
	if err != nil {
		return nil, "", err
	}
	return server.OpenTokens(cfg.DataDir), cfg.DataDir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// An ageFlag is a flag whose value is an age in the language's syntax, such as 30d.
type ageFlag time.Duration

func (f *ageFlag) String() string {
	if *f == 0 {
		return ""
	}
	return schema.FormatAge(time.Duration(*f))
}

func (f *ageFlag) Type() string { return "D" }

func (f *ageFlag) Set(text string) error {
	d, err := schema.ParseAge(text)
	*f = ageFlag(d)
	return err
}

func (c *command) createToken(name string, grants []server.Grant, expires time.Duration) error {
	if len(grants) == 0 {
		return fail(exitUsage, errors.New("the token has no rights; give it some with --read, --write or --admin"))
	}
	tokens, dir, err := c.tokens()
	if err != nil {
		return err
	}
	if !isDir(dir) && !c.quiet { // the user may have meant another directory
		_, _ = fmt.Fprintf(c.stderr, "there is no database in %s yet; smolwc serve makes one\n", dir)
	}
	var until time.Time
	if expires > 0 {
		until = time.Now().Add(expires).Truncate(time.Second)
	}
	secret, err := tokens.Create(name, grants, until)
	if err != nil {
		return fail(exitFailed, err)
	}
	_, err = fmt.Fprintln(c.stdout, secret)
	return fail(exitFailed, err)
}

func (c *command) listTokens() error {
	tokens, dir, err := c.tokens()
	if err != nil {
		return err
	}
	list, exists, err := tokens.List()
	switch {
	case err != nil:
		return fail(exitFailed, err)
	case !isDir(dir):
		c.say("there is no database in %s, so there are no tokens", dir)
		return nil
	case !exists:
		c.say("there are no tokens; every client that connects may do everything")
		return nil
	case len(list) == 0:
		c.say("there are no tokens left; no client is let in")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tRIGHTS\tCREATED\tEXPIRES") // Flush returns the error
	for _, t := range list {
		expires := "never"
		if !t.Expires.IsZero() {
			expires = t.Expires.Format(time.DateTime)
			if !time.Now().Before(t.Expires) {
				expires += " (expired)"
			}
		}
		var rights []string
		for _, g := range t.Grants {
			rights = append(rights, g.Right.String()+" "+g.Tables)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, strings.Join(rights, ", "), t.Created.Format(time.DateTime), expires)
	}
	return fail(exitFailed, w.Flush())
}

func (c *command) revokeToken(name string) error {
	tokens, _, err := c.tokens()
	if err != nil {
		return err
	}
	if err := tokens.Revoke(name); err != nil {
		return fail(exitFailed, err)
	}
	c.say("revoked %s", name)
	return nil
}
