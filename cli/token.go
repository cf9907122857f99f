package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
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

Tokens are in tokens.json in the database's directory, or, if the database is at a
URL, in the database. Their secrets are not there. The command works while the
server runs; the server sees the change within a second.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("token needs a command: create, list or revoke")
		},
	}
	cmd.AddCommand(c.tokenCreateCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.listTokens(cmd.Context()) },
	}, &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a token",
		Args:  oneArg("NAME"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.revokeToken(cmd.Context(), args[0]) },
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
fleet@v is the authorized view v of the table fleet alone, with --read or --write.

--write includes reading. --admin includes both, and creating, changing and
dropping the tables that the name stands for.`,
		Example: `  smolwc token create dashboard --read fleet
  smolwc token create loader --write 'p/i/*' --read fleet --expires 30d
  smolwc token create operator --admin '*'`,
		Args: oneArg("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var grants []server.Grant
			for _, of := range []struct {
				right  server.Right
				tables []string
			}{{server.Read, read}, {server.Write, write}, {server.Admin, admin}} {
				for _, t := range of.tables {
					grants = append(grants, server.Grant{Right: of.right, Tables: t})
				}
			}
			return c.createToken(cmd.Context(), args[0], grants, expires)
		},
	}
	cmd.Flags().StringSliceVar(&read, "read", nil, "let it read `TABLE`; may be repeated")
	cmd.Flags().StringSliceVar(&write, "write", nil, "let it read and write `TABLE`; may be repeated")
	cmd.Flags().StringSliceVar(&admin, "admin", nil, "let it do everything with `TABLE`; may be repeated")
	cmd.Flags().Func("expires", "let it expire after `D`, such as 30d or 12h (default never)", func(text string) (err error) {
		expires, err = schema.ParseAge(text)
		return err
	})
	return cmd
}

// withTokens calls fn with the tokens of the configuration's database. A database in a
// directory is not opened, because a server may have it open; it may not exist yet.
func (c *command) withTokens(ctx context.Context, o query.Options, fn func(tokens *server.Tokens, dir string) error) (err error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return err
	}
	if !isURL(cfg.DataDir) {
		return fn(server.OpenTokens(cfg.DataDir), cfg.DataDir)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	o.MustExist = true
	db, err := c.open(ctx, cfg, o)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return fn(server.TokensIn(db), "")
}

// missing reports whether a database's directory does not exist.
func missing(dir string) bool { return dir != "" && !isDir(dir) }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (c *command) createToken(ctx context.Context, name string, grants []server.Grant, expires time.Duration) error {
	if len(grants) == 0 {
		return fail(exitUsage, errors.New("the token has no rights; give it some with --read, --write or --admin"))
	}
	var until time.Time
	if expires > 0 {
		until = time.Now().Add(expires).Truncate(time.Second)
	}
	return c.withTokens(ctx, query.Options{}, func(tokens *server.Tokens, dir string) error {
		if missing(dir) && !c.quiet { // the user may have meant another directory
			_, _ = fmt.Fprintf(c.stderr, "there is no database in %s yet; smolwc serve makes one\n", dir)
		}
		secret, err := tokens.Create(name, grants, until)
		if err != nil {
			return fail(exitFailed, err)
		}
		_, err = fmt.Fprintln(c.out, secret)
		return fail(exitFailed, err)
	})
}

func (c *command) listTokens(ctx context.Context) error {
	return c.withTokens(ctx, query.Options{ReadOnly: true}, c.printTokens)
}

func (c *command) printTokens(tokens *server.Tokens, dir string) error {
	list, exists, err := tokens.List()
	switch {
	case err != nil:
		return fail(exitFailed, err)
	case missing(dir):
		c.say("there is no database in %s, so there are no tokens", dir)
		return nil
	case !exists:
		c.say("there are no tokens; every client that connects may do everything")
		return nil
	case len(list) == 0:
		c.say("there are no tokens left; no client is let in")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
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

func (c *command) revokeToken(ctx context.Context, name string) error {
	return c.withTokens(ctx, query.Options{}, func(tokens *server.Tokens, _ string) error {
		if err := tokens.Revoke(name); err != nil {
			return fail(exitFailed, err)
		}
		c.say("revoked %s", name)
		return nil
	})
}
