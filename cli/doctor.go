package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/internal/doctor"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// A doctorRun makes a report for people who look for a bug.
type doctorRun struct {
	*command
	remote  remoteFlags
	noCheck bool
	report  strings.Builder
}

func (c *command) doctorCommand() *cobra.Command {
	r := &doctorRun{command: c}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Print what a bug report needs",
		Long: `doctor prints what a bug report needs: versions, the machine and its limits,
settings, tables, figures of the engine, the result of smolwc check, and the end of
RocksDB's log if the database is on RocksDB. It contains names of tables, families and
files, and no data: no row key, qualifier or value, no token or password. Read it
before you send it.

doctor writes nothing, and works beside a running server. If the database does not
open, the report says why. With --addr the report is about a server, without its
machine.`,
		Example: "  smolwc doctor --db data >report.txt",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	r.remote.add(cmd)
	cmd.Flags().BoolVar(&r.noCheck, "no-check", false, "leave out smolwc check, which reads the whole database")
	return cmd
}

func (r *doctorRun) run(ctx context.Context) error {
	if err := r.remote.check(r.command); err != nil {
		return fail(exitUsage, err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r.section("version", r.versionLine()+"\n")
	r.section("machine", doctor.Machine())
	r.section("environment", doctor.Environment(r.getenv, envToken))
	if r.remote.addr != "" {
		r.server(ctx)
	} else if cfg, err := r.load(ctx); err != nil {
		r.section("settings", r.without(err))
	} else {
		r.section("settings", settingsOf(cfg))
		r.database(ctx, cfg)
	}
	if err := ctx.Err(); err != nil {
		return fail(exitInterrupt, err)
	}
	_, err := io.WriteString(r.out, r.report.String())
	return fail(exitFailed, err)
}

func (r *doctorRun) section(title, text string) {
	_, _ = fmt.Fprintf(&r.report, "== %s\n%s\n", title, text)
}

// without is an error without its possible data.
func (r *doctorRun) without(err error) string { return doctor.Message(err.Error()) + "\n" }

func settingsOf(cfg *config.Config) string {
	tables := 0
	if cfg.Schema != nil {
		tables = len(cfg.Schema.Tables)
	}
	return fmt.Sprintf("file            %s\ndata_dir        %s\nengine          %s\ndurability      %s\nmemory          %s\nbackground_rate %s\nlog_level       %s\ntables          %d are declared\n",
		cfg.Path, doctor.Address(cfg.DataDir), cmp.Or(cfg.Engine, string(query.DefaultEngine())), cfg.Durability, schema.FormatSize(cfg.Memory), schema.FormatSize(cfg.BackgroundRate), cfg.LogLevel, tables)
}

func (r *doctorRun) database(ctx context.Context, cfg *config.Config) {
	engine, _ := query.EngineOf(cfg.DataDir) // "" for a URL, and an unreadable place does not open
	db, err := r.open(ctx, cfg, query.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		r.section("database", "it does not open: "+r.without(err))
	} else {
		r.section("database", fmt.Sprintf("id     %s\nformat %d\nengine %s\n", db.UUID(), db.Format(), cmp.Or(string(engine), "of the URL")))
		o := r.options(db)
		r.statements(ctx, o, db.Schema(), "stats")
		r.check(ctx, db)
		if err := db.Close(); err != nil {
			r.section("closing", r.without(err))
		}
	}
	if !isURL(cfg.DataDir) {
		r.section("files", doctor.Files(cfg.DataDir))
		if engine != query.EnginePebble { // without a log of its own: its messages are smolwc's
			r.section("the end of LOG", doctor.Log(cfg.DataDir))
		}
	}
}

func (r *doctorRun) check(ctx context.Context, db *query.DB) {
	if r.noCheck {
		r.section("check", "left out by --no-check\n")
		return
	}
	c := &checkRun{command: r.command}
	progress, clear := c.progress()
	report, err := db.Check(ctx, query.OnCheckProgress(progress))
	clear()
	if err != nil {
		r.section("check", r.without(err))
		return
	}
	for i := range report.Problems {
		p := &report.Problems[i]
		*p = query.Problem{File: p.File, Family: p.Family, Err: errorText(doctor.Message(p.Err.Error()))}
	}
	r.section("check", checkText(report))
}

// An errorText is the text of an error.
type errorText string

func (e errorText) Error() string { return string(e) }

func (r *doctorRun) server(ctx context.Context) {
	db, err := r.remote.connect(ctx, r.command)
	if err != nil {
		r.section("server", "it does not answer: "+doctor.Address(err.Error())+"\n")
		return
	}
	defer func() { _ = db.Close() }() // no call is running
	r.section("server", "it answers on "+r.remote.addr+"; run smolwc doctor --db DIR on its machine for the rest\n")
	o := r.options(nil)
	o.Remote = remote.Database{Client: db}
	r.statements(ctx, o, db.Schema())
}

// statements runs a description of each table, and further statements.
func (r *doctorRun) statements(ctx context.Context, o shell.Options, tables *schema.Schema, more ...string) {
	todo := more
	for i := range tables.Tables {
		todo = append(todo, "describe "+tables.Tables[i].Name)
	}
	for _, statement := range todo {
		var out, errs strings.Builder
		o.Out, o.Err, o.Format, o.Color, o.Terminal = &out, &errs, "table", false, false
		s := shell.New(o)
		_ = s.RunStatement(ctx, statement) // it is in errs
		_ = s.Close()                      // there is no batch
		r.section(statement, out.String()+doctor.Message(errs.String()))
	}
}
