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

WAYS = {
  'mysql.mysql2-ruby' => [:mysql2, %w[mysql2]],
  'mysql.rails' => [:rails, %w[activerecord mysql2]],
  'postgres.pg-ruby' => [:pg, %w[pg]],
  'postgres.rails' => [:rails, %w[activerecord pg]],
  'redis.redis-rb' => [:redis, %w[redis]]
}.freeze

way, gems = WAYS.fetch(ARGV[0])
gems.each { |name| require name == 'activerecord' ? 'active_record' : name }
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
