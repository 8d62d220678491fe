# Connects as each Ruby driver does with the text that `looptax dsn` prints.
#
# usage: drive.rb DIALECT, with jobs on stdin as README.md says
require 'json'

QUERY = ENV['DIALECT_QUERY']

def version(name) = "#{name} #{Gem.loaded_specs[name]&.version || Gem::Specification.find_by_name(name).version}"

def mysql2(job) = eval(job['text']).query(QUERY).first.values.first

def pg(job) = eval(job['text']).exec(QUERY).getvalue(0, 0)

def redis(job) = eval(job['text']).call('CLIENT', 'INFO')

def rails(job)
  ActiveRecord::Base.establish_connection(YAML.load(job['text']))
  ActiveRecord::Base.connection.select_value(QUERY)
ensure
  ActiveRecord::Base.remove_connection
end

# Reads `config/database.yml` as Rails does.
def spelled_rails(job)
  rails(job.merge('text' => YAML.dump(YAML.load(ERB.new(job['text']).result)['production'])))
end

# Connects with `DATABASE_URL`, which Active Record parses itself.
def spelled_rails_url(job)
  ActiveRecord::Base.establish_connection(job['text'][/^DATABASE_URL=(.*)$/, 1])
  ActiveRecord::Base.connection.select_value(QUERY)
ensure
  ActiveRecord::Base.remove_connection
end

# Connects as Sidekiq does with the variable, but without retries.
def spelled_redis(job)
  url = job['text'][/^REDIS_URL=(.*)$/, 1].delete_prefix('"').delete_suffix('"')
  Redis.new(url: url, reconnect_attempts: 0).ping
end

WAYS = {
  'mysql.mysql2-ruby' => [:mysql2, %w[mysql2]],
  'mysql.rails' => [:rails, %w[activerecord mysql2]],
  'postgres.pg-ruby' => [:pg, %w[pg]],
  'postgres.rails' => [:rails, %w[activerecord pg]],
  'redis.redis-rb' => [:redis, %w[redis]],
  'spelling.rails-mysql2' => [:spelled_rails, %w[activerecord mysql2]],
  'spelling.rails-pg' => [:spelled_rails, %w[activerecord pg]],
  'spelling.rails-url-mysql2' => [:spelled_rails_url, %w[activerecord mysql2]],
  'spelling.rails-url-pg' => [:spelled_rails_url, %w[activerecord pg]],
  'spelling.sidekiq' => [:spelled_redis, %w[redis]]
}.freeze

way, gems = WAYS.fetch(ARGV[0])
gems.each { |name| require name == 'activerecord' ? 'active_record' : name }
require 'erb'
require 'yaml'
$stdout.sync = true
puts JSON.generate(driver: gems.map { |name| version(name) }.join(', '), language: "Ruby #{RUBY_VERSION}")
$stdin.each_line do |line|
  answer =
    begin
      { seen: send(way, JSON.parse(line)).to_s }
    rescue StandardError, SyntaxError => e
      { error: "#{e.class}: #{e.message}"[0, 500] }
    end
  puts JSON.generate(answer)
end
