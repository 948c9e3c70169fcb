package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

const (
	keptAfterEnd = 7 * 24 * time.Hour // Redis may forget a voucher after that
	pageMax      = 100
)

var errDrift = errors.New("the books do not balance: drift says where, and what `worker audit --repair` would do")

// tell writes what became of a voucher: as an object of JSON, or as a line of text.
type tell func(v any, text string) error

// one is what a command does with a voucher.
type one func(ctx context.Context, b *books.Books, v seckill.VoucherID, tell tell) error

func syncCommand() *cobra.Command {
	return vouchersCommand(&cobra.Command{
		Use: "sync", Short: "Rebuild Redis from SQL",
		Long: "Rebuilds the keys of a voucher in Redis from SQL and the orders that wait. Its sale is closed for\n" +
			"that moment; orders in flight stay. Safe to repeat, and to run while workers do.\n" +
			"With -o json, for each voucher: voucherId, result (\"synced\").",
		Example: "  worker sync\n  worker sync --voucher 1001",
	}, syncOne, nil)
}

func auditCommand() *cobra.Command {
	var repair bool
	cmd := vouchersCommand(&cobra.Command{
		Use: "audit", Short: "Check the books of Redis and SQL; exit 1 on drift",
		Long: "Compares the books of a voucher in Redis and in SQL, also while it sells, and changes nothing. Orders\n" +
			"under way are no drift. Each difference says what a repair would do: release, requeue or mark one\n" +
			"user, which is done only if nothing has moved since; sync the voucher; or none, for a person to see to.\n" +
			"With --repair it says so, does it, and looks once more. Safe to repeat, and to run while workers do.\n" +
			"With -o json, for each look: voucherId, redis, sql, waiting, pending, buried, releaseDue, drift (empty:\n" +
			"balanced), unlisted (how many more there are). Without --voucher, orders whose voucher is not in the\n" +
			"database are drift, too.",
		Example: "  worker audit\n  worker audit --voucher 1001 --repair\n  worker audit --voucher 1001 -o json | jq '.drift[]'",
	}, func(ctx context.Context, b *books.Books, v seckill.VoucherID, tell tell) error {
		err := auditOne(ctx, b, v, tell)
		if !repair || !errors.Is(err, errDrift) {
			return err
		}
		if err := b.Mend(ctx, v); err != nil {
			return err
		}
		return auditOne(ctx, b, v, tell)
	}, auditOrphans)
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what was found, and look once more")
	return cmd
}

// vouchersCommand makes cmd do it to the voucher named, or to all that Redis should hold, and
// then see to the rest that these do not cover, if any.
func vouchersCommand(cmd *cobra.Command, do one, rest func(context.Context, *sqlstore.Store, tell) error) *cobra.Command {
	var voucher string
	output := command.OutputFlag(cmd)
	cmd.Args = command.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, err := config.LoadWorker(config.Environ())
		if err != nil {
			return err
		}
		s, err := open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		b := books.New(s.redis, s.sql, obs.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format))
		tell := func(v any, text string) error { return output.Write(cmd.OutOrStdout(), v, text) }
		if !cmd.Flags().Changed("voucher") {
			err := all(cmd.Context(), b, s.sql, do, tell)
			if rest != nil {
				err = errors.Join(err, rest(cmd.Context(), s.sql, tell))
			}
			return err
		}
		v, err := seckill.ParseVoucherID(voucher)
		if err != nil {
			return fmt.Errorf("--voucher: %w", err)
		}
		return do(cmd.Context(), b, v, tell)
	}
	cmd.Flags().StringVar(&voucher, "voucher", "", "id of the voucher; without it, all that have not long ended")
	completeVouchers(cmd)
	return cmd
}

// completeVouchers offers the vouchers of the database in the shell; without one, nothing.
func completeVouchers(cmd *cobra.Command) {
	offer := func(cmd *cobra.Command, _ []string, _ string) (found []string, then cobra.ShellCompDirective) {
		then = cobra.ShellCompDirectiveNoFileComp
		cfg, err := config.LoadMigrate(config.Environ())
		if err != nil {
			return nil, then
		}
		sql, err := sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{})
		if err != nil {
			return nil, then
		}
		defer func() { _ = sql.Close() }() // a shell waits for the answer alone
		vs, _ := sql.Vouchers(cmd.Context(), 0, pageMax)
		for _, v := range vs {
			found = append(found, cobra.CompletionWithDesc(v.ID.String(), v.Title))
		}
		return found, then
	}
	if err := cmd.RegisterFlagCompletionFunc("voucher", offer); err != nil {
		panic(err) // the flag is there, once
	}
}

// all does it for every voucher, also after one of them failed.
func all(ctx context.Context, b *books.Books, sql *sqlstore.Store, do one, tell tell) error {
	var failed error
	for after := seckill.VoucherID(0); ; {
		page, err := sql.Vouchers(ctx, after, pageMax)
		if err != nil || len(page) == 0 {
			return errors.Join(failed, err)
		}
		for _, v := range page {
			if time.Since(v.End) > keptAfterEnd {
				continue
			}
			if err := do(ctx, b, v.ID, tell); err != nil {
				failed = errors.Join(failed, fmt.Errorf("voucher %s: %w", v.ID, err))
			}
		}
		after = page[len(page)-1].ID
	}
}

// synced is a voucher that was rebuilt, in JSON.
type synced struct {
	VoucherID seckill.VoucherID `json:"voucherId"`
	Result    string            `json:"result"`
}

func syncOne(ctx context.Context, b *books.Books, v seckill.VoucherID, tell tell) error {
	if err := b.Sync(ctx, v); err != nil {
		return err
	}
	return tell(synced{v, "synced"}, "voucher "+v.String()+": rebuilt from SQL")
}

func auditOne(ctx context.Context, b *books.Books, v seckill.VoucherID, tell tell) error {
	report, err := b.Audit(ctx, v)
	if err != nil {
		return err
	}
	if err := tell(report, describe(report)); err != nil {
		return err
	}
	if !report.Balanced() {
		return errDrift
	}
	return nil
}

// describe is a report as people read it: the numbers in a line, then each drift.
func describe(r seckill.Report) string {
	verdict := "balanced"
	if !r.Balanced() {
		verdict = "DRIFT"
	}
	text := fmt.Sprintf("voucher %s: %s; total %d, live orders %d, buyers %d, tickets %d, stock %d in SQL and %d in Redis, waiting %d, to release %d",
		r.Voucher, verdict, r.SQL.Total, r.SQL.Live(), r.Redis.Buyers, r.Redis.Tickets, r.SQL.Stock, r.Redis.Stock, r.Waiting, r.ReleaseDue)
	for _, f := range r.Drift {
		text += "\n  " + f.String()
	}
	if r.Unlisted > 0 {
		text += fmt.Sprintf("\n  and %d more", r.Unlisted)
	}
	return text
}
