package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/internal/config"
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
is kept, unless --prune is given: that drops it, and its data.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.applySchema(cmd.Context(), prune) },
	}
	apply.Flags().BoolVar(&prune, "prune", false, "drop tables and families that are not declared, with their data")
	cmd.AddCommand(apply, &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would do, and do nothing",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return c.planSchema() },
	})
	return cmd
}

// declared reads the configuration, which must declare tables: an empty one
// would plan to drop everything.
func (c *command) declared() (*config.Config, error) {
	cfg, err := c.load()
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

func (c *command) planSchema() (err error) {
	cfg, err := c.declared()
	if err != nil {
		return err
	}
	var existing *schema.Schema
	db, err := c.open(cfg, query.Options{ReadOnly: true, MustExist: true})
	switch {
	case err == nil:
		defer closing(db, &err)
		existing = db.Schema()
	case errors.Is(err, query.ErrNotFound):
		c.say("there is no database in %s yet", cfg.DataDir)
	default:
		return err
	}
	plan := schema.Diff(existing, cfg.Schema)
	c.printPlan(plan.WithoutDrops())
	c.printKept(plan)
	if plan.Empty() {
		c.say("%s has the tables of %s; there is nothing to do", cfg.DataDir, cfg.Path)
	}
	return nil
}

func (c *command) applySchema(ctx context.Context, prune bool) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := c.declared()
	if err != nil {
		return err
	}
	db, err := c.open(cfg, query.Options{})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	plan := schema.Diff(db.Schema(), cfg.Schema)
	todo := plan
	if !prune {
		todo = plan.WithoutDrops()
	}
	if err := db.ApplyPlan(ctx, todo); err != nil {
		return fail(exitFailed, err)
	}
	c.printPlan(todo)
	if !prune {
		c.printKept(plan)
	}
	if todo.Empty() {
		c.say("%s has the tables of %s; nothing was done", cfg.DataDir, cfg.Path)
	}
	return nil
}

// printPlan prints the changes, a line each.
func (c *command) printPlan(p schema.Plan) {
	_, _ = fmt.Fprint(c.stdout, p)
}

// printKept says what a plan would drop if it were asked to.
func (c *command) printKept(p schema.Plan) {
	for _, change := range p.Changes {
		switch change.Kind {
		case schema.DropTable:
			c.say("  table %s is not declared and is kept; apply --prune drops it and its data", change.Table)
		case schema.DropFamily:
			c.say("  family %s/%s is not declared and is kept; apply --prune drops it and its data", change.Table, change.Family)
		}
	}
}
