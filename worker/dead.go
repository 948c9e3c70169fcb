package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	deadLimit   = 100
	deadPageMax = 500
)

// deadCommand is `worker dead` with its three verbs.
func deadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dead", Short: "The buried messages: what could not be stored",
		Args: command.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(deadListCommand(), deadReplayCommand(), deadDropCommand())
	return cmd
}

func deadListCommand() *cobra.Command {
	var limit int
	var output *command.Format
	cmd := &cobra.Command{
		Use: "list", Short: "Show them, the oldest first",
		Long: "Shows the buried messages, the oldest first. With -o json, for each: id, original, reason, buriedAt,\n" +
			"attempts, orderId, userId and voucherId where they were readable, fields.",
		Example: "  worker dead list\n  worker dead list --limit 10000 -o json | jq -r 'select(.reason == \"worn_out\") | .id'",
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return command.Wrong(fmt.Errorf("--limit is %d: it must be at least 1", limit))
			}
			return withStores(cmd.Context(), func(s stores) error {
				found, err := buried(cmd.Context(), s.redis, limit+1)
				if err != nil {
					return err
				}
				if len(found) > limit {
					found = found[:limit]
					cmd.PrintErrf("there are more than %d: see --limit\n", limit)
				}
				if *output == command.JSON {
					return writeLines(cmd.OutOrStdout(), found)
				}
				return writeTable(cmd.OutOrStdout(), found)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", deadLimit, "how many to show at most")
	output = command.OutputFlag(cmd)
	return cmd
}

func deadReplayCommand() *cobra.Command {
	var all bool
	var output *command.Format
	cmd := &cobra.Command{
		Use: "replay ID... | --all", Short: "Admit their users anew, as new orders, and drop what was admitted",
		Long: "Admits the user of each message anew under a new order id, as if they bought now, and drops the\n" +
			"message. It is refused, and the message stays, where the voucher is sold out or ended, or where\n" +
			"the user holds an order of it. Repeating a replay that was cut short makes no second order.\n" +
			"Exits with 1 if any failed. With -o json, for each: id, result (\"replayed\", \"failed\"),\n" +
			"orderId, code, error.",
		Example: "  worker dead replay 1764500000000-0\n  worker dead replay --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return command.Wrong(errors.New("name the messages to replay, or say --all"))
			}
			ids, err := parseDeadIDs(args)
			if err != nil {
				return err
			}
			return withStores(cmd.Context(), func(s stores) error {
				if all {
					if ids, err = buriedNow(cmd.Context(), s.redis); err != nil {
						return err
					}
				}
				return each(cmd, output, ids, replayer(cmd.Context(), s))
			})
		},
		ValidArgsFunction: completeDead,
	}
	cmd.Flags().BoolVar(&all, "all", false, "replay all that are buried now")
	output = command.OutputFlag(cmd)
	return cmd
}

func deadDropCommand() *cobra.Command {
	var output *command.Format
	cmd := &cobra.Command{
		Use: "drop ID...", Short: "Delete them for ever",
		Long: "Deletes buried messages for ever. Exits with 1 if any failed. With -o json, for each: id, result\n" +
			"(\"dropped\", \"failed\"), code, error.",
		Example: "  worker dead drop 1764500000000-0 1764500000000-1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Wrong(errors.New("name the messages to drop"))
			}
			ids, err := parseDeadIDs(args)
			if err != nil {
				return err
			}
			return withStores(cmd.Context(), func(s stores) error {
				return each(cmd, output, ids, func(id seckill.DeadID) (fate, error) {
					dropped, err := s.redis.DropDead(cmd.Context(), id)
					if err == nil && !dropped {
						err = errors.New("no such message is buried")
					}
					return fate{ID: id, Result: "dropped"}, err
				})
			})
		},
		ValidArgsFunction: completeDead,
	}
	output = command.OutputFlag(cmd)
	return cmd
}

// completeDead offers the ids of buried messages in the shell.
func completeDead(cmd *cobra.Command, _ []string, _ string) (offered []string, then cobra.ShellCompDirective) {
	_ = withStores(cmd.Context(), func(s stores) error { // where it fails there is nothing to offer
		found, err := buried(cmd.Context(), s.redis, deadLimit)
		for _, d := range found {
			offered = append(offered, cobra.CompletionWithDesc(d.ID.String(), string(d.Reason)))
		}
		return err
	})
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// withStores opens the stores of the settings for do.
func withStores(ctx context.Context, do func(s stores) error) (err error) {
	cfg, err := config.LoadWorker(config.Environ())
	if err != nil {
		return err
	}
	s, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return do(s)
}

func parseDeadIDs(args []string) ([]seckill.DeadID, error) {
	ids := make([]seckill.DeadID, len(args))
	for i, arg := range args {
		var err error
		if ids[i], err = seckill.ParseDeadID(arg); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// replayer replays under ids of the one source that all orders have.
func replayer(ctx context.Context, s stores) func(seckill.DeadID) (fate, error) {
	source, ledger := orderid.New(s.redis, s.sql, orderid.Options{}), books.New(s.redis, s.sql, slog.Default())
	return func(id seckill.DeadID) (fate, error) {
		d, err := s.redis.DeadMessage(ctx, id)
		if err != nil {
			return fate{}, err
		}
		fresh, err := source.Next(ctx, d.Order.Voucher)
		if err != nil {
			return fate{}, err
		}
		o, err := ledger.Replay(ctx, id, fresh)
		return fate{ID: id, Result: "replayed", OrderID: o.ID}, err
	}
}

// fate is what became of a message, in JSON.
type fate struct {
	ID      seckill.DeadID  `json:"id"`
	Result  string          `json:"result"`
	OrderID seckill.OrderID `json:"orderId,omitempty"`
	Code    seckill.Code    `json:"code,omitempty"` // of a failure
	Error   string          `json:"error,omitempty"`
}

func (f fate) String() string {
	if f.OrderID != 0 {
		return fmt.Sprintf("%s: order %s", f.ID, f.OrderID)
	}
	return fmt.Sprintf("%s: %s", f.ID, f.Result)
}

// each does it to every message, also after one of them failed, and writes what came of it.
// A failure is told on the standard error for people, among the results for programs.
func each(cmd *cobra.Command, output *command.Format, ids []seckill.DeadID, do func(seckill.DeadID) (fate, error)) error {
	failed := 0
	for _, id := range ids {
		f, err := do(id)
		text := f.String()
		if err != nil {
			failed++
			f, text = fate{ID: id, Result: "failed", Code: seckill.CodeOf(err), Error: command.Explain(err)}, ""
			cmd.PrintErrf("%s: %s\n", id, f.Error)
		}
		if err := output.Write(cmd.OutOrStdout(), f, text); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(ids))
	}
	return nil
}

// buriedNow returns the ids of all messages before any is touched: one that is buried again
// meanwhile is not met a second time.
func buriedNow(ctx context.Context, redis *redisstore.Store) ([]seckill.DeadID, error) {
	found, err := buried(ctx, redis, 0)
	ids := make([]seckill.DeadID, len(found))
	for i, d := range found {
		ids[i] = d.ID
	}
	return ids, err
}

// buried returns the messages of all partitions, up to most of them if most is not 0.
func buried(ctx context.Context, redis *redisstore.Store, most int) (found []seckill.Dead, err error) {
	var after seckill.DeadID
	for most == 0 || len(found) < most {
		page, err := redis.Buried(ctx, after, deadPageMax)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return found, nil
		}
		found, after = append(found, page...), page[len(page)-1].ID
	}
	return found[:most], nil
}

func writeTable(out io.Writer, found []seckill.Dead) error {
	if len(found) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := append(make([][]any, 0, len(found)+1), []any{"ID", "REASON", "AGE", "ATTEMPTS", "ORDER", "USER", "VOUCHER"})
	for _, d := range found {
		age := time.Since(d.BuriedAt).Round(time.Second)
		rows = append(rows, []any{d.ID, d.Reason, age, d.Attempts, known(d.Order.ID), known(d.Order.User), known(d.Order.Voucher)})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(table, "%v\t%v\t%v\t%v\t%v\t%v\t%v\n", row...); err != nil {
			return err
		}
	}
	return table.Flush()
}

// known writes an id, "-" for one that was not readable.
func known[T ~int64](id T) string {
	if id == 0 {
		return "-"
	}
	return strconv.FormatInt(int64(id), 10)
}

// deadLine is a message in JSON. Ids that were not readable are left out.
type deadLine struct {
	ID        seckill.DeadID    `json:"id"`
	Original  string            `json:"original"`
	Reason    seckill.Reason    `json:"reason"`
	BuriedAt  time.Time         `json:"buriedAt"`
	Attempts  int64             `json:"attempts"`
	OrderID   seckill.OrderID   `json:"orderId,omitempty"`
	UserID    seckill.UserID    `json:"userId,omitempty"`
	VoucherID seckill.VoucherID `json:"voucherId,omitempty"`
	Fields    []string          `json:"fields"` // name, value, name, value, ...
}

func writeLines(out io.Writer, found []seckill.Dead) error {
	lines := json.NewEncoder(out)
	for _, d := range found {
		err := lines.Encode(deadLine{
			ID: d.ID, Original: d.Original, Reason: d.Reason, BuriedAt: d.BuriedAt, Attempts: d.Attempts,
			OrderID: d.Order.ID, UserID: d.Order.User, VoucherID: d.Order.Voucher, Fields: d.Fields,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
