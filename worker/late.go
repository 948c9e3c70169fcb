package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

const lateLimit = 100

// lateCommand is `worker late list`.
func lateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "late", Short: "The late payments: money that has to go back",
		Args: command.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(lateListCommand())
	return cmd
}

func lateListCommand() *cobra.Command {
	var limit int
	var output *command.Format
	cmd := &cobra.Command{
		Use: "list", Short: "Show them, the newest first", Args: command.NoArgs,
		Long: "Shows the payments that came after their order was cancelled or rejected, the newest first. They stay on\n" +
			"the list: which were paid back, your payment service knows. With -o json, for each: reference, orderId,\n" +
			"amount (minor units), paidAt.",
		Example: "  worker late list\n  worker late list --limit 10000 -o json | jq -r .reference",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if limit < 1 {
				return command.Wrong(fmt.Errorf("--limit is %d: it must be at least 1", limit))
			}
			cfg, err := config.LoadMigrate(config.Environ()) // the database is all that is needed
			if err != nil {
				return err
			}
			sql, err := sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, sql.Close()) }()
			late, err := sql.LatePayments(cmd.Context(), limit+1)
			if err != nil {
				return err
			}
			if len(late) > limit {
				late = late[:limit]
				cmd.PrintErrf("there are more than %d: see --limit\n", limit)
			}
			return writeLate(cmd.OutOrStdout(), output, late)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", lateLimit, "how many to show at most")
	output = command.OutputFlag(cmd)
	return cmd
}

// lateLine is a late payment in JSON.
type lateLine struct {
	Reference string          `json:"reference"`
	OrderID   seckill.OrderID `json:"orderId"`
	Amount    int64           `json:"amount"`
	PaidAt    time.Time       `json:"paidAt"`
}

// writeLate writes a table, or a line of JSON for each.
func writeLate(out io.Writer, output *command.Format, late []seckill.LatePayment) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(late) > 0 && *output == command.Text {
		heads := "REFERENCE\tORDER\tAMOUNT\tPAID"
		if err := output.Write(table, nil, heads); err != nil {
			return err
		}
	}
	for _, p := range late {
		text := fmt.Sprintf("%s\t%s\t%d\t%s", p.Reference, p.Order, p.Amount, p.At.Format(time.RFC3339))
		if err := output.Write(table, lateLine{p.Reference, p.Order, p.Amount, p.At}, text); err != nil {
			return err
		}
	}
	return table.Flush()
}
