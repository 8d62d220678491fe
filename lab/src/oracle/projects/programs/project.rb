# The application of a project in Ruby. It reads its configuration as Active Record does, and sends requests to its
# server until the file PROJECT_ALIVE is removed.
#
# usage: ruby project.rb FORM, in the project's folder; PROJECT_LOG, PROJECT_ALIVE, PROJECT_MARK, PROJECT_MODE
require "erb"
require "uri"
require "yaml"

MYSQL = "SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()), word FROM mark".freeze
POSTGRES = "SELECT COALESCE(host(inet_client_addr()), 'localhost'), word FROM mark".freeze

# Returns the parts of the URL and of its query, together with the other settings in the file.
def resolved(config)
  return config unless config["url"]

  uri = URI.parse(config["url"])
  parts = {
    "adapter" => uri.scheme.sub("postgresql", "postgres").sub("postgres", "postgresql"),
    "username" => uri.user && URI.decode_www_form_component(uri.user.gsub("+", "%2B")),
    "password" => uri.password && URI.decode_www_form_component(uri.password.gsub("+", "%2B")),
    "host" => uri.host && URI.decode_www_form_component(uri.hostname.gsub("+", "%2B")),
    "port" => uri.port,
    "database" => uri.path.delete_prefix("/"),
  }
  parts = parts.reject { |_, value| value.nil? || value == "" }
  config.except("url").merge(parts, URI.decode_www_form(uri.query.to_s).to_h)
end

def by_mysql2(config)
  require "mysql2"
  client = Mysql2::Client.new(config.transform_keys(&:to_sym))
  [-> { client.query(MYSQL, as: :array).first }, -> { client.close }]
end

def by_pg(config)
  require "pg"
  words = { "host" => "host", "port" => "port", "username" => "user", "password" => "password", "database" => "dbname" }
  client = PG.connect(config.slice(*words.keys).transform_keys(words))
  [-> { client.exec(POSTGRES).values.first }, -> { client.close }]
end

open_ =
  case ARGV.fetch(0)
  when "rails"
    text = ERB.new(File.read("config/database.yml")).result
    config = resolved(YAML.safe_load(text, aliases: true).fetch("production"))
    config["adapter"] == "postgresql" ? -> { by_pg(config) } : -> { by_mysql2(config) }
  when "mycnf"
    -> { by_mysql2("default_file" => File.expand_path("my.cnf"), "default_group" => "client") }
  end
name = config && config["adapter"] == "postgresql" ? "postgres" : "mysql"

begins_anew = false
trap("HUP") { begins_anew = true }
log = File.open(ENV.fetch("PROJECT_LOG"), "a")
log.sync = true
note = ->(what) { log.write(format("%.3f %s\n", Time.now.to_f, what)) }
File.write(ENV.fetch("PROJECT_PID"), Process.pid)
note.("start")
held = nil
while File.exist?(ENV.fetch("PROJECT_ALIVE"))
  if begins_anew
    # Open files would stay open in the program that replaces this one, so the connection is closed first.
    held&.last&.call
    exec("ruby", $PROGRAM_NAME, *ARGV)
  end
  begin
    held ||= open_.call
    host, word = held[0].call
    is_right = word == ENV.fetch("PROJECT_MARK")
    note.(is_right ? "ok #{name} #{host == "localhost" ? "socket" : "tcp"}" : "fail #{name} another server answered")
  rescue StandardError => e
    note.("fail #{name} #{e.message.split.join(" ")}")
    is_right = false
  end
  if held && (!is_right || ENV["PROJECT_MODE"] == "short")
    begin
      held[1].call
    rescue StandardError
      nil
    end
    held = nil
  end
  sleep(0.15)
end
