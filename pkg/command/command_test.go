package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// line is a command line with one command that prints a result.
func line(args ...string) (string, error) {
	root := command.Root(&cobra.Command{Use: "prog", Short: "A program", Long: "A program."}, func(cmd *cobra.Command, _ []string) error { return nil })
	show := &cobra.Command{Use: "show", Short: "Show it", Args: command.NoArgs}
	output := command.OutputFlag(show)
	show.RunE = func(cmd *cobra.Command, _ []string) error {
		return output.Write(cmd.OutOrStdout(), map[string]int{"answer": 42}, "it is 42")
	}
	root.AddCommand(show)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

func TestWriteOneResult(t *testing.T) {
	for args, want := range map[[3]string]string{
		{"show"}:                      "it is 42\n",
		{"show", "-o", "text"}:        "it is 42\n",
		{"show", "-o", "json"}:        "{\"answer\":42}\n",
		{"show", "--output=json", ""}: "{\"answer\":42}\n",
	} {
		var given []string
		for _, a := range args {
			if a != "" {
				given = append(given, a)
			}
		}
		out, err := line(given...)
		require.NoError(t, err)
		require.Equal(t, want, out)
	}
	_, err := line("show", "-o", "xml")
	require.ErrorContains(t, err, "it may be text or json")
	require.Equal(t, 2, command.ExitCode(err))
}

func TestRootTellsWhatItIs(t *testing.T) {
	out, err := line("--version")
	require.NoError(t, err)
	require.Equal(t, "prog "+command.Version()+"\n", out)

	_, err = line("shw")
	require.EqualError(t, err, `prog does not know "shw"; did you mean show?`)
	require.Equal(t, 2, command.ExitCode(err))
	_, err = line("nonsense")
	require.ErrorContains(t, err, "see prog --help")

	out, err = line("--help")
	require.NoError(t, err)
	require.Contains(t, out, "Exit codes: 0 done; 1 ")

	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, err = line("completion", shell)
		require.NoError(t, err)
		require.Contains(t, out, "prog", shell)
	}
	out, err = line("__complete", "show", "--output", "")
	require.NoError(t, err)
	require.Contains(t, out, "text\njson\n:4\n")
}

func TestExplain(t *testing.T) {
	refused := errors.New("dial tcp 127.0.0.1:3306: connect: connection refused")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a code alone is told in words": {
			fmt.Errorf("voucher 7: %w", &seckill.Error{Op: "sqlstore.Voucher", Code: seckill.VoucherNotFound}), "voucher 7: voucher not found"},
		"a cause says more than its code": {
			fmt.Errorf("--user: %w", &seckill.Error{Op: "seckill.Parse", Code: seckill.Invalid, Err: errors.New("it is wrong")}), "--user: it is wrong"},
		"a function without a code goes too": {
			fmt.Errorf("run.HTTP: 127.0.0.1:80: %w", errors.New("it broke")), "127.0.0.1:80: it broke"},
		"each line of several errors": {
			errors.Join(&seckill.Error{Op: "a.B", Code: seckill.SoldOut}, &seckill.Error{Op: "c.D", Code: seckill.Ended}), "sold out\nended"},
		"settings stay as they are": {
			&config.Error{Faults: []config.Fault{{Variable: "SECKILL_REDIS_DB", Wrong: "is wrong"}}}, "wrong settings:\n  SECKILL_REDIS_DB: is wrong"},
		"a database that is not there": {
			&seckill.Error{Op: "sqlstore.Migrate", Code: seckill.Unavailable, Err: refused},
			refused.Error() + "\n  No database answers there: start it, or check SECKILL_MYSQL_DSN."},
		"the same cause of Redis names its setting": {
			&seckill.Error{Op: "redisstore.Open", Code: seckill.Unavailable, Err: refused},
			refused.Error() + "\n  No Redis answers there: start it, or check SECKILL_REDIS_ADDRS."},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, command.Explain(c.err)) })
	}
}

// What real servers say leads to the setting that is wrong.
func TestExplainRealRefusals(t *testing.T) {
	server := redistest.New(t)
	client := server.ClientOf(t)
	for name, c := range map[string]struct {
		options redisstore.Options
		names   string
	}{
		"a database that Redis does not have": {redisstore.Options{DB: 99}, "SECKILL_REDIS_DB"},
		"TLS to a server that speaks it not":  {redisstore.Options{TLS: true}, "SECKILL_REDIS_TLS"},
		"a wrong user":                        {redisstore.Options{Username: "nobody", Password: "secret"}, "SECKILL_REDIS_USERNAME"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Addrs, c.options.Timeout = []string{server.Addr()}, 200*time.Millisecond
			_, err := redisstore.Open(t.Context(), c.options)
			require.Error(t, err)
			said := command.Explain(err)
			require.Contains(t, said, c.names)
			require.NotContains(t, said, "redisstore")
			require.NotContains(t, said, "INTERNAL")
			require.NotContains(t, said, "secret")
		})
	}
	require.NoError(t, client.ConfigSet(t.Context(), "requirepass", "secret").Err())
	_, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}})
	require.Contains(t, command.Explain(err), "set SECKILL_REDIS_PASSWORD")
}

func TestListenNamesItsSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, err = command.Listen(t.Context(), "SECKILL_HTTP_ADDR", taken.Addr().String())
	require.ErrorContains(t, err, "SECKILL_HTTP_ADDR: ")
	require.Contains(t, command.Explain(err), "address already in use\n  Stop the program that listens there")
	_, err = command.Listen(t.Context(), "SECKILL_OPS_ADDR", "192.0.2.1:1") // no machine has it
	require.ErrorContains(t, err, "SECKILL_OPS_ADDR: ")
}
