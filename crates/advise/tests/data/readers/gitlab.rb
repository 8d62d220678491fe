ARGV.each do |f|
  gitlab_rails = {}
  eval(File.read(f, encoding: 'utf-8'))
  gitlab_rails.each { |k, v| puts "#{k}\t#{v}" }
  puts '--'
end
