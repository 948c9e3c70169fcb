package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

func runMigrate(cmd *cobra.Command, _ []string) (err error) {
	cfg, err := config.LoadMigrate(config.Environ())
	if err != nil {
		return err
	}
	sql, err := sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sql.Close()) }()
	if err := sql.Migrate(cmd.Context()); err != nil {
		return err
	}
	obs.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format).Info("database schema is up to date")
	return nil
}

// signed is a token in JSON.
type signed struct {
	Token     string         `json:"token"`
	UserID    seckill.UserID `json:"userId"`
	Role      string         `json:"role,omitempty"`
	ExpiresAt time.Time      `json:"expiresAt"`
}

// tokenCommand prints a token, for trying things out and for scripts.
func tokenCommand() *cobra.Command {
	var user, role string
	var ttl time.Duration
	var output *command.Format
	cmd := &cobra.Command{
		Use: "token --user ID", Short: "Print a bearer token signed with SECKILL_JWT_SECRET", Args: command.NoArgs,
		Long: "Prints a bearer token, for trying things out and for scripts.\n" +
			"With -o json: token, userId, role (absent for a buyer), expiresAt.",
		Example: "  api token --user 42\n  api token --user 1 --role admin --ttl 10m\n  api token --user 42 -o json | jq -r .token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadJWT(config.Environ())
			if err != nil {
				return err
			}
			id, err := seckill.ParseUserID(user)
			if err != nil {
				return fmt.Errorf("--user: %w", err)
			}
			if ttl <= 0 {
				return command.Wrong(fmt.Errorf("--ttl %v is not longer than nothing", ttl))
			}
			now := time.Now()
			token, err := app.Token([]byte(cfg.Secret.Reveal()), id, role, now, ttl)
			if err != nil {
				return fmt.Errorf("--role: %w", err)
			}
			return output.Write(cmd.OutOrStdout(), signed{token, id, role, now.Add(ttl).UTC().Truncate(time.Second)}, token)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "user id the token is for")
	cmd.Flags().StringVar(&role, "role", "", `"admin" or "service"; none for a buyer`)
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "how long the token is valid")
	command.Complete(cmd, "role", "admin", "service")
	output = command.OutputFlag(cmd)
	return cmd
}
