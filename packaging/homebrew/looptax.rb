# For Linuxbrew: looptax reads /proc and talks over Unix sockets as Linux has them.
# Untried: no Homebrew was at hand; read by Ruby and linted by RuboCop. A release adds `sha256` below `url`.
class Looptax < Formula
  desc "Measure, split and remove the loopback tax of local databases"
  homepage "https://github.com/looptax/looptax"
  url "https://github.com/looptax/looptax/archive/refs/tags/v0.1.0.tar.gz"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/looptax/looptax.git", branch: "main"

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    system bin/"looptax", "internal", "documents", "made"
    man1.install Dir["made/man/*.1"]
    bash_completion.install "made/completions/looptax.bash" => "looptax"
    zsh_completion.install "made/completions/_looptax"
    fish_completion.install "made/completions/looptax.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/looptax --version")
    (testpath/"wp-config.php").write "<?php define('DB_NAME', 'a'); define('DB_HOST', '127.0.0.1');\n"
    assert_match "takes-tcp", shell_output("#{bin}/looptax check wp-config.php --sarif")
  end
end
