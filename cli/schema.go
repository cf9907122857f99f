package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

func (c *command) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Compare the declared tables with those of the database, and make them the same",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("schema needs a command: plan or apply")
		},
	}
	prune := false
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Create and change tables and families as they are declared",
		Long: `apply creates the tables and families that the configuration declares and the
database lacks, and sets types and retention as declared. What is not declared
is kept, unless --prune is given: that drops it, and its data.

Retention that becomes stricter, and a change stream that is kept for a shorter
time, hide or drop data for good. apply says how much, and asks at a terminal; a
script has to give --prune, or nothing is done. alter table in the shell does one
such change without the others.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.applySchema(cmd.Context(), prune) },
	}
	apply.Flags().BoolVar(&prune, "prune", false, "hide and drop what the declaration does not keep, undeclared tables and families included")
	cmd.AddCommand(apply, &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would do, and do nothing",
		Long: `plan shows what apply would do, how much data that would hide or drop, and does
nothing. What apply would refuse is an error.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.planSchema(cmd.Context()) },
	})
	return cmd
}

// declared reads the configuration. It must declare tables, because an empty one would
// plan to drop everything.
func (c *command) declared(ctx context.Context) (*config.Config, error) {
	cfg, err := c.load(ctx)
	switch {
	case err != nil:
		return nil, err
	case cfg.Path == "":
		return nil, fail(exitUsage, fmt.Errorf("there is no %s here; name the file that declares the tables with --config", config.DefaultFile))
	case cfg.Schema == nil:
		return nil, fail(exitUsage, fmt.Errorf("%s declares no tables", cfg.Path))
	}
	return cfg, nil
}

func (c *command) planSchema(ctx context.Context) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := c.declared(ctx)
	if err != nil {
		return err
	}
	db, err := c.open(ctx, cfg, query.Options{ReadOnly: true, MustExist: true})
	if errors.Is(err, query.ErrNotFound) {
		c.say("there is no database in %s yet", shown(cfg.DataDir))
		c.printPlan(schema.Diff(nil, cfg.Schema))
		return nil
	}
	if err != nil {
		return err
	}
	defer closing(db, &err)
	plan := schema.Diff(db.Schema(), cfg.Schema)
	todo := plan.WithoutDrops()
	_, takes := todo.Split(db.Schema())
	for _, change := range todo.Changes {
		_, _ = fmt.Fprintln(c.out, change)
		if !slices.ContainsFunc(takes.Changes, func(t schema.Change) bool { return t.String() == change.String() }) {
			continue
		}
		loss, err := c.loss(ctx, db, change)
		if err != nil {
			return err
		}
		if loss != "" {
			c.say("  %s; apply asks first, and in a script needs --prune", loss)
		}
	}
	if err := c.printKept(ctx, db, plan); err != nil {
		return err
	}
	if plan.Empty() {
		c.say("%s has the tables of %s; there is nothing to do", shown(cfg.DataDir), cfg.Path)
	}
	return fail(exitFailed, db.CheckPlan(ctx, todo))
}

func (c *command) applySchema(ctx context.Context, prune bool) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := c.declared(ctx)
	if err != nil {
		return err
	}
	db, err := c.open(ctx, cfg, query.Options{})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	plan := schema.Diff(db.Schema(), cfg.Schema)
	todo := plan
	if !prune {
		todo = plan.WithoutDrops()
	}
	if err := db.CheckPlan(ctx, todo); err != nil {
		return fail(exitFailed, err)
	}
	if err := c.mayHide(ctx, db, todo, prune); err != nil {
		return fail(exitFailed, err)
	}
	if err := db.ApplyPlan(ctx, todo); err != nil {
		return fail(exitFailed, err)
	}
	if _, err := db.Declare(ctx, cfg.Schema); err != nil { // it is already declared
		return fail(exitFailed, err)
	}
	c.printPlan(todo)
	if !prune {
		if err := c.printKept(ctx, db, plan); err != nil {
			return err
		}
	}
	if todo.Empty() {
		c.say("%s has the tables of %s; nothing was done", shown(cfg.DataDir), cfg.Path)
	}
	return nil
}

// mayHide lists the cells that a plan hides and drops, and asks for permission unless --prune
// is set.
func (c *command) mayHide(ctx context.Context, db *query.DB, todo schema.Plan, prune bool) error {
	_, takes := todo.Split(db.Schema())
	loses := false
	for _, change := range takes.Changes {
		loss, err := c.loss(ctx, db, change)
		if err != nil {
			return err
		}
		if loss != "" {
			loses = true
			_, _ = fmt.Fprintf(c.stderr, "%v: %s\n", change, loss)
		}
	}
	if prune || !loses {
		return nil
	}
	return c.ask("this cannot be undone; apply it?",
		"nothing was done, because this cannot be undone; --prune confirms it, and also drops undeclared tables and families", "nothing was done")
}

func (c *command) printPlan(p schema.Plan) {
	_, _ = fmt.Fprint(c.out, p)
}

// loss describes how much a change hides or drops; "" if nothing.
func (c *command) loss(ctx context.Context, db *query.DB, change schema.Change) (string, error) {
	if change.Kind == schema.SetChangeStream {
		return "older changes can no longer be read", nil
	}
	cells, err := c.hidden(ctx, db, change)
	if cells == "0 cells" {
		return "", err
	}
	return cells + " would become invisible", err
}

// hidden describes how many cells a change hides.
func (c *command) hidden(ctx context.Context, db *query.DB, change schema.Change) (string, error) {
	n, exact, err := db.EstimateHidden(ctx, change)
	text := fmt.Sprintf("%d cells", n)
	if n == 1 {
		text = "1 cell"
	}
	if !exact {
		text = "about " + text
	}
	return text, fail(exitFailed, err)
}

// printKept lists the drops that need --prune.
func (c *command) printKept(ctx context.Context, db *query.DB, p schema.Plan) error {
	for _, change := range p.Changes {
		if !change.Destructive() {
			continue
		}
		cells, err := c.hidden(ctx, db, change)
		if err != nil {
			return err
		}
		what := "table " + change.Table
		if change.Kind == schema.DropFamily {
			what = fmt.Sprintf("family %s/%s", change.Table, change.Family)
		}
		c.say("  %s is not declared and is kept; apply --prune drops it and its data, %s", what, cells)
	}
	return nil
}
