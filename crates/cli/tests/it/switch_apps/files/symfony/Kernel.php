<?php

namespace App;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
    }

    public function getProjectDir(): string
    {
        return \dirname(__DIR__);
    }

    public function greeting(): Response
    {
        return new Response($this->ask('SELECT text FROM greetings'));
    }

    public function way(): Response
    {
        return new Response($this->ask('SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()'));
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => '%env(APP_SECRET)%', 'http_method_override' => false]);
        $container->services()
            ->set('database', Connection::class)
            ->factory([DriverManager::class, 'getConnection'])
            ->args([['url' => '%env(resolve:DATABASE_URL)%']])
            ->public();
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('greeting', '/')->controller('kernel::greeting');
        $routes->add('way', '/way')->controller('kernel::way');
    }

    private function ask(string $sql): string
    {
        return $this->getContainer()->get('database')->fetchOne($sql);
    }
}
